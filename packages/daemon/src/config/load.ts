import { join } from 'node:path';
import { environmentLayers, flagLayers, readText, yamlLayer, type Layer, type Read } from './layers.ts';
import { findings, invalidConfig, type ConfigProblem } from './problems.ts';
import { REPOSITORY_FILE, refusedOf, saysNothing } from './repository.ts';
import { Config } from './schema.ts';
import { keysOf } from './settings.ts';

/** The repository that is worked on. Its file counts only if the person trusts it as it is now (BND5). */
export interface RepositorySource {
  readonly root: string;
  readonly trusts: (file: { readonly path: string; readonly content: string }) => boolean;
}

export interface ConfigSources {
  /** `--set engine.concurrency=4`, as `{ 'engine.concurrency': '4' }`. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly repository?: RepositorySource;
  readonly userFile?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The same sources, with what a repository says. */
  readonly in: (repository: RepositorySource) => LoadedConfig;
  /** Who said it, for every setting that somebody set: `engine.concurrency` → `REVEILLE_ENGINE_CONCURRENCY`. */
  readonly origins: ReadonlyMap<string, string>;
  /** Files that do not count, because they are not trusted. */
  readonly ignored: readonly string[];
}

const NOTHING: Read = { layers: [], problems: [] };

/** Flag > environment > repository > user > default. Throws `invalid_input` with every problem and its place. */
export function loadConfig({ flags = {}, env = {}, userFile, repository }: ConfigSources): LoadedConfig {
  const user = userFile === undefined ? NOTHING : readFile(userFile);
  return combine({ user, above: [environmentLayers(env), flagLayers(flags)] }, repository);
}

/** What was read once, below and above what repositories say. */
interface Around {
  readonly user: Read;
  readonly above: readonly Read[];
}

function combine(around: Around, repository: RepositorySource | undefined): LoadedConfig {
  const ignored: string[] = [];
  // From the weakest to the strongest.
  const reads = [around.user, readRepository(repository, ignored), ...around.above];
  const layers = reads.flatMap((read) => read.layers);
  const problems = [...reads.flatMap((read) => read.problems), ...layers.flatMap(check)];
  if (problems.length > 0) throw invalidConfig(problems);
  const origins = new Map<string, string>();
  const merged = layers.reduce<unknown>((under, { name, value }) => {
    note(origins, name, value, []);
    return merge(under, value);
  }, {});
  const parsed = Config.safeParse(merged);
  if (!parsed.success) {
    // Each was right by itself: together they are not.
    const all = findings(parsed.error.issues, keysOf);
    throw invalidConfig(
      all.map(({ path, problem }) => ({ source: 'together', at: path.join('.'), problem })),
    );
  }
  return { config: freeze(parsed.data), origins, ignored, in: (other) => combine(around, other) };
}

function readFile(path: string): Read {
  const text = readText(path);
  if (text === undefined) return NOTHING;
  return typeof text === 'string' ? yamlLayer(path, text) : { layers: [], problems: [text] };
}

function readRepository(repository: RepositorySource | undefined, ignored: string[]): Read {
  if (!repository) return NOTHING;
  const path = join(repository.root, REPOSITORY_FILE);
  const content = readText(path);
  if (content === undefined) return NOTHING;
  if (typeof content !== 'string') return { layers: [], problems: [content] };
  if (saysNothing(content)) return NOTHING;
  if (!repository.trusts({ path, content })) {
    ignored.push(path);
    return NOTHING;
  }
  const read = yamlLayer(path, content);
  return { layers: read.layers, problems: [...read.problems, ...read.layers.flatMap(notTheirs)] };
}

const notTheirs = (layer: Layer): ConfigProblem[] =>
  refusedOf(layer.value).map((finding) => ({
    ...layer.place(finding),
    at: finding.path.join('.'),
    problem: finding.problem,
  }));

function check(layer: Layer): ConfigProblem[] {
  const parsed = Config.safeParse(layer.value);
  if (parsed.success) return [];
  return findings(parsed.error.issues, keysOf).map((finding) => ({
    ...layer.place(finding),
    at: finding.path.join('.'),
    problem: finding.problem,
  }));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Groups are merged, values and lists replaced. */
function merge(under: unknown, over: unknown): unknown {
  if (!isObject(under) || !isObject(over)) return over;
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, key in over ? merge(under[key], over[key]) : under[key]]),
  );
}

function note(origins: Map<string, string>, name: string, value: unknown, path: readonly string[]): void {
  if (!isObject(value)) return void origins.set(path.join('.'), name);
  for (const [key, inner] of Object.entries(value)) note(origins, name, inner, [...path, key]);
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) freeze(inner);
    Object.freeze(value);
  }
  return value;
}
