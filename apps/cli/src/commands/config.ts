import { command } from '../command/spec.ts';
import { paintOf, print } from '../reach.ts';
import { repositoryIfAny } from '../repository.ts';
import { configHere, untrustedWords } from '../trusted.ts';
import { pad } from '../view/columns.ts';

/** One setting, and who says so. */
interface Set {
  readonly setting: string;
  readonly value: unknown;
  readonly from: string;
}

export const config = command({
  name: 'config',
  group: 'Begin',
  summary: 'shows what is set, and where it was said',
  usage: '[setting]',
  about: `With a setting, or a group such as sandbox, that alone; else what somebody has set. Strongest first: --set of daemon start,
the environment, the repository once trusted, your own file, the default. A daemon that runs has what it was started
with; only what a repository says is looked at for every task.`,
  options: { all: { type: 'boolean', short: 'a', means: 'also what nobody has set' } },
  json: '{ settings: [{ setting, value, from }], ignored: files that are not trusted, userFile }',
  async run(call) {
    const [wanted] = call.args;
    const loaded = await configHere(call.io, await repositoryIfAny(call));
    const settings = await settingsOf(loaded);
    const asked = settings.filter(({ setting }) => wanted === undefined || isIn(setting, wanted));
    if (asked.length === 0) await throwUnknown(wanted ?? '');
    const all = call.options.all || wanted !== undefined;
    const shown = all ? asked : asked.filter(({ from }) => from !== DEFAULT);
    const { placeOf } = await import('@reveille/daemon/connect');
    const { userConfig: userFile } = placeOf(call.io.env);
    print(call, { settings: shown, ignored: loaded.ignored, userFile }, () => [
      ...lines(shown, paintOf(call), call.io.out.columns ?? 120),
      ...(shown.length === 0 ? ['Nobody has set anything: the defaults hold (reveille config --all).'] : []),
      ...loaded.ignored.map((path) => paintOf(call)('yellow', untrustedWords(path))),
      ...(wanted === undefined ? [paintOf(call)('dim', `Your own file: ${userFile}`)] : []),
    ]);
  },
});

const DEFAULT = 'default';

const isIn = (setting: string, wanted: string): boolean =>
  setting === wanted || setting.startsWith(`${wanted}.`);

async function settingsOf({
  config: values,
  origins,
}: Awaited<ReturnType<typeof configHere>>): Promise<Set[]> {
  const { SETTINGS } = await import('@reveille/daemon/config');
  const listed = SETTINGS.map(({ path }) => {
    const setting = path.join('.');
    // A whole group may be set at once, such as to null.
    const from = path.map((_, i) => origins.get(path.slice(0, path.length - i).join('.'))).find(Boolean);
    return { setting, value: valueAt(values, path), from: from ?? DEFAULT };
  });
  // What has names of the person's own, such as the environment of an agent, is in no list of settings.
  const known = new Set(listed.map(({ setting }) => setting));
  const named = [...origins].filter(([name]) => !known.has(name) && !isGroup(name, known));
  const own = named.map(([setting, from]) => ({ setting, value: shownValue(values, setting), from }));
  return [...listed, ...own];
}

const isGroup = (name: string, known: ReadonlySet<string>): boolean =>
  [...known].some((setting) => setting.startsWith(`${name}.`));

/** A variable may be a key. */
const shownValue = (values: unknown, setting: string): unknown =>
  /\.env\.[^.]+$/.test(setting) ? '(set)' : valueAt(values, setting.split('.'));

function valueAt(values: unknown, path: readonly string[]): unknown {
  let value: unknown = values;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return null;
    value = (value as Record<string, unknown>)[key];
  }
  return value ?? null;
}

function lines(settings: readonly Set[], paint: ReturnType<typeof paintOf>, columns: number): string[] {
  if (columns < 80)
    return settings.map(
      ({ setting, value, from }) => `${setting}: ${JSON.stringify(value)} ${paint('dim', from)}`,
    );
  const wide = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => text.length));
  const names = wide(settings.map(({ setting }) => setting));
  const values = Math.min(40, wide(settings.map(({ value }) => JSON.stringify(value))));
  return settings.map(
    ({ setting, value, from }) =>
      `${pad(setting, names)}  ${pad(JSON.stringify(value), values)}  ${paint('dim', from)}`,
  );
}

async function throwUnknown(wanted: string): Promise<never> {
  const [{ SETTINGS }, { ReveilleError, nearest }] = await Promise.all([
    import('@reveille/daemon/config'),
    import('@reveille/protocol'),
  ]);
  const names = new Set(SETTINGS.flatMap(({ path }) => path.map((_, i) => path.slice(0, i + 1).join('.'))));
  const near = nearest(wanted, [...names])
    .slice(0, 3)
    .join(', ');
  throw new ReveilleError('not_found', `There is no setting "${wanted.slice(0, 60)}". The nearest: ${near}.`);
}
