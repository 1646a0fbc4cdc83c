import { basename } from 'node:path/posix';
import { isReveilleError, type Asking, type CodeLine, type Coverage } from '@reveille/protocol';
import { languageOf, type Language } from '../languages.ts';
import { ServerBroken } from '../lsp/connection.ts';
import type { ServerPlace, ServerSession } from '../lsp/session.ts';
import type { Place } from '../place.ts';
import type { ServerPool } from '../pool/pool.ts';
import type { SyntaxDefinition } from '../syntax/definitions.ts';
import type { Syntax } from '../syntax/syntax.ts';
import type { Guessed } from '../text/all-defined.ts';
import type { PlaceText } from '../text/declared.ts';
import { namesBefore, type Before } from '../text/names.ts';
import type { Scout } from '../text/scout.ts';
import type { PlainUses } from '../text/plain-uses.ts';
import { isImportAt } from '../text/imports.ts';
import type { Spot } from '../text/spots.ts';
import type { Survey, SurveyAsk } from '../text/trees.ts';
import type { Changes, Look, TextHit } from '../text/known-tree.ts';
import { Patience } from './patience.ts';

/** What questions are answered with. */
export interface Means {
  readonly scout: Scout;
  readonly syntax: Syntax;
  readonly pool: ServerPool;
  /** How long a server that has answered before may take. */
  readonly warmMs: number;
  /** How long one that says that it is loading is waited for. */
  readonly loadMs: number;
}

const LARGEST = 4_000_000;
/** Read at once, without another thread. */
const HEAD = 16_384;
const LONGEST_LINE = 400;
const PATIENT_MS = 5_000;

/** One question about one tree, while it is being answered. Files are read once, and through the door. */
export class Inquiry {
  readonly place: Place;
  readonly asking: Asking;
  readonly syntax: Syntax;
  readonly #means: Means;
  readonly #texts = new Map<string, Promise<string | null>>();
  readonly #named = new Map<string, Promise<readonly string[]>>();
  readonly #placeTexts = new Map<string, Promise<PlaceText | undefined>>();
  readonly #hovers = new Map<string, Promise<string | null>>();
  /** What stands where a name most likely leads; it is being asked for. */
  #surveying: Promise<unknown> | null = null;
  #likely: Survey['places'] = [];
  #looked = false;
  #before: Promise<Before | null> | null = null;
  /** The files of the tree, if they are known without the thread. */
  #names: readonly string[] | null = null;
  /** The file that was asked about, as it was read. */
  #asked: Awaited<ReturnType<Place['files']['readFile']>> | null = null;
  readonly #lines = new Map<string, Promise<readonly string[]>>();

  constructor(means: Means, place: Place, asking: Asking) {
    this.#means = means;
    this.syntax = means.syntax;
    this.place = place;
    this.asking = asking;
  }

  /** The true path of a file that was asked about. What the door refuses, it explains (BND1). */
  async file(given: string): Promise<string> {
    const file = await this.place.files.readFile(given, { maxBytes: LARGEST });
    this.#asked = file;
    return file.path;
  }

  /** Likewise, and how its text begins: most names that a file uses stand there, in its imports. */
  async head(given: string): Promise<{ readonly path: string; readonly text: string }> {
    const file = await this.place.files.readFile(given, { maxBytes: LARGEST, limit: HEAD });
    if (file.size > HEAD)
      return { path: file.size > LARGEST ? await this.file(given) : file.path, text: file.text() };
    this.#asked = file;
    return { path: file.path, text: file.text() };
  }

  /** The text of a file; null if it is none, or is not there. */
  text(path: string): Promise<string | null> {
    const known = this.#texts.get(path) ?? this.#textOf(path);
    this.#texts.set(path, known);
    return known;
  }

  async #textOf(path: string): Promise<string | null> {
    return this.#asked?.path === path ? this.#asked.text() : await this.#read(path);
  }

  lines(path: string): Promise<readonly string[]> {
    const known = this.#lines.get(path) ?? this.text(path).then((text) => (text ?? '').split('\n'));
    this.#lines.set(path, known);
    return known;
  }

  async lineAt(path: string, line: number): Promise<string> {
    return (await this.lines(path))[line - 1]?.trimEnd().slice(0, LONGEST_LINE) ?? '';
  }

  async withLine<P extends { readonly path: string; readonly line: number; readonly column: number }>(
    place: P,
  ): Promise<CodeLine> {
    const { path, line, column } = place;
    return { path, line, column, text: await this.lineAt(path, line) };
  }

  /** A server is to be started: what there is in the tree is found out, and nothing read yet. */
  begin(): void {
    this.#before ??= namesBefore(this.place.root).catch(() => null);
    // Meanwhile the thread starts, and has looked at the tree when it is asked for words.
    const { root } = this.place;
    this.#means.scout.look(root, { needle: null, since: null, again: this.#again() }).catch(() => undefined);
  }

  /**
   * What there was when the question came: a server that knows nothing yet may begin to read. Null: it must wait until the tree was
   * looked at.
   */
  async before(session: ServerSession): Promise<Before | null> {
    if (session.version !== null || session.root !== this.place.root) return null;
    const before = await this.#before;
    if (session.version !== null) return null;
    session.before ??= before;
    this.#names = session.before?.paths ?? null;
    return session.before;
  }

  /** Where words are in the files of the tree; explained, what they are there as far as their files tell. */
  async look(needle: string, { explain = false } = {}): Promise<Look> {
    const again = this.#again();
    return await this.#means.scout.look(this.place.root, { needle, since: null, again, explain });
  }

  async named(names: readonly string[]): Promise<readonly string[]> {
    if (this.#names) return this.#names.filter((path) => names.includes(basename(path)));
    const key = names.join('\0');
    const known = this.#named.get(key) ?? this.#means.scout.named(this.place.root, names, this.#again());
    this.#named.set(key, known);
    return await known;
  }

  /** A server that can be asked about a file at once, and knows some version of the tree. */
  warmSession(path: string): ServerSession | null {
    const language = languageOf(path);
    if (language?.name !== 'typescript') return null;
    const session = this.#means.pool.warmSession(this.place.root, language);
    return session && session.version !== null ? session : null;
  }

  /** Looks at the disk, and for all that is needed besides what the server says of a name in a file. */
  async survey(session: ServerSession, asked: Pick<SurveyAsk, 'path' | 'name' | 'guess'>): Promise<Survey> {
    this.#looked = true;
    const { projectFiles } = session.language;
    const asking = this.#means.scout.survey(session.root, { ...asked, since: session.version, projectFiles });
    const found = asking.then(({ projects }) => projects);
    // The question may end before anybody asks for them.
    found.catch(() => undefined);
    this.#named.set(projectFiles.join('\0'), found);
    this.#surveying = asking.then(
      ({ places }) => (this.#likely = places),
      () => undefined,
    );
    return await asking;
  }

  /** What a survey has told of a place, if it is there already. */
  likely(spot: Spot & { readonly path: string }): PlaceText | null {
    return this.#likely.find(({ at }) => keyOf(at) === keyOf(spot)) ?? null;
  }

  /** Where a file uses a name, if it defines none of it for certain; null: a parser must say. */
  async uses(path: string, name: string): Promise<PlainUses | null> {
    if (languageOf(path)?.name !== 'typescript') return null;
    const { scout } = this.#means;
    return await this.#seen((root) => scout.uses(root, path, name));
  }

  /** Whether a guess is all that a file defines of a name for certain; false: a parser must say. */
  async definesOnly(path: string, asked: Guessed): Promise<boolean> {
    if (languageOf(path)?.name !== 'typescript' || asked.guess.length === 0) return false;
    const { scout } = this.#means;
    return await this.#seen((root) => scout.definesOnly(root, path, asked));
  }

  /** What is asked about the tree is asked after its disk was looked at. */
  async #seen<T>(ask: (root: string) => Promise<T>): Promise<T> {
    const { root } = this.place;
    const looking = this.#again() ? null : this.#means.scout.look(root, { needle: null, since: null });
    const [answer] = await Promise.all([ask(root), looking]);
    return answer;
  }

  /** The line of a place that a server named, and what is declared there as far as it is told without parsing. */
  async placeText(spot: Spot & { readonly path: string }): Promise<PlaceText> {
    const { path, line } = spot;
    const key = keyOf(spot);
    const known = this.#placeTexts.get(key) ?? this.#placeText(spot);
    this.#placeTexts.set(key, known);
    const found = await known;
    return found && found.text !== ''
      ? { ...found, text: found.text.slice(0, LONGEST_LINE) }
      : { text: await this.lineAt(path, line), declared: null };
  }

  async #placeText(spot: Spot & { readonly path: string }): Promise<PlaceText | undefined> {
    await this.#surveying;
    const { path, line, column } = spot;
    return (
      this.likely(spot) ?? (await this.#means.scout.places(this.place.root, [{ path, line, column }]))[0]
    );
  }

  /** What a server shows at a place, asked once. */
  hover(session: ServerSession, spot: Spot & { readonly path: string }): Promise<string | null> {
    const key = keyOf(spot);
    const known = this.#hovers.get(key) ?? session.hover(spot);
    this.#hovers.set(key, known);
    return known;
  }

  /** What was asked before it turned out that something had changed does not count. */
  forgetEarly(): void {
    this.#hovers.clear();
    this.#placeTexts.clear();
    this.#surveying = null;
    this.#likely = [];
  }

  /** What is defined at this very place; null: nothing is. */
  async definedAt(
    spot: Spot & { readonly path: string },
  ): Promise<(Partial<SyntaxDefinition> & Pick<SyntaxDefinition, 'name' | 'kind'>) | null> {
    const { declared } = await this.placeText(spot);
    if (declared) return { ...declared, container: null };
    const text = (await this.text(spot.path)) ?? '';
    return isImportAt(text, spot) ? null : ((await this.syntax.at(spot.path, text, spot)) ?? null);
  }

  /** The server of a language has answered before: it will answer now. */
  isWarm(language: Language | null): boolean {
    return language !== null && this.#means.pool.isWarm(this.place.root, language);
  }

  /** So long a server that says that it is loading is waited for: an answer that says so is better than none of a server. */
  get loadMs(): number {
    const { warmMs, loadMs } = this.#means;
    return Math.min(loadMs, 0.75 * Math.max(warmMs, this.asking.waitMs));
  }

  /** Whoever asks waits for a server, also for one that must load its project first. */
  get waits(): boolean {
    return this.asking.waitMs >= PATIENT_MS;
  }

  /** One question sees one state of the disk: it is looked at by the first that needs it. */
  #again(): boolean {
    const again = this.#looked;
    this.#looked = true;
    return again;
  }

  /** Tells a server what changed on disk since it was last asked, whoever changed it, and looks for words on the way. */
  async bringUp(session: ServerSession, needle: string | null = null): Promise<Look> {
    // Questions are looked after in the order they come: whatever is asked from here on sees the same state.
    this.#looked ||= session.root === this.place.root;
    const { version: since, before } = session;
    const look = await this.#means.scout.look(session.root, { needle, since, before, explain: true });
    if (!isNothing(look.changes)) this.#names = null;
    return await this.tell(session, look);
  }

  /** Tells a server what a look found. */
  async tell<L extends Pick<Look, 'version' | 'changes'>>(session: ServerSession, look: L): Promise<L> {
    await session.tell(look.changes, (path) => this.#read(path));
    session.version = look.version;
    return look;
  }

  /**
   * By the server if it can be had in time, else from text, with the reason. A server that is cold goes on loading after
   * the answer, for the next question.
   */
  async answer<T extends Coverage>(
    language: Language | null,
    ways: { readonly byText: () => Promise<T>; readonly byServer: (session: ServerSession) => Promise<T> },
  ): Promise<T> {
    if (language === null)
      return withNote(await ways.byText(), 'no language server is known for this kind of file');
    const missing = await this.#means.pool.missing(language);
    if (missing !== null) return withNote(await ways.byText(), missing);
    const place = await this.#tree(language);
    const warm = this.#means.pool.isWarm(place.root, language);
    const waitMs = warm ? Math.max(this.#means.warmMs, this.asking.waitMs) : this.asking.waitMs;
    using patience = new Patience(waitMs, this.asking.signal);
    // Who waits for the server anyway needs the words only if it does not come.
    const waits = waitMs >= PATIENT_MS;
    const text = warm || waits ? null : ways.byText();
    const ask = async () => await this.#ask(place, language, { waitMs, byServer: ways.byServer });
    // A server that loads its project takes every core: the words come first, and in an instant.
    const asked = text === null ? ask() : text.then(ask, ask);
    if (!warm && waits) this.#means.scout.restUntil(asked);
    if (!warm) asked.then(() => this.syntax.begin()).catch(() => undefined);
    const outcome = await Promise.race([asked, patience.over]);
    if (outcome?.answer) return outcome.answer;
    return withNote(await (text ?? ways.byText()), outcome ? outcome.why : warm ? LATE : LOADING);
  }

  async #ask<T>(
    place: Pick<Place, 'root' | 'repository' | 'launch'>,
    language: Language,
    options: { readonly waitMs: number; readonly byServer: (session: ServerSession) => Promise<T> },
  ): Promise<{ answer: T | null; why: string }> {
    const { waitMs, byServer } = options;
    try {
      const patience = () => AbortSignal.timeout(waitMs);
      const answer = await this.#means.pool.use(place, language, { patience, act: byServer });
      return { answer, why: '' };
    } catch (error) {
      if (!(error instanceof ServerBroken)) throw error;
      return { answer: null, why: `the language server could not be asked: ${error.message}` };
    }
  }

  /** For who only reads: another tree of the repository that is the same in all that matters, and has a server. */
  async #tree(language: Language): Promise<Pick<Place, 'root' | 'repository' | 'launch'>> {
    const { root, repository, readOnly } = this.place;
    const { pool, scout } = this.#means;
    if (!readOnly || pool.isWarm(root, language)) return this.place;
    const endings = [
      ...Object.keys(language.extensions).map((extension) => `.${extension}`),
      '.json',
      '.toml',
    ];
    for (const other of pool.roots(repository, language))
      if (await scout.same(root, other, endings)) return { ...this.place, root: other };
    return this.place;
  }

  async #read(path: string): Promise<string | null> {
    try {
      return (await this.place.files.readFile(path, { maxBytes: LARGEST })).text();
    } catch (error) {
      if (isReveilleError(error)) return null;
      throw error;
    }
  }
}

const LATE = 'the language server did not answer in time';
const LOADING =
  'the language server is still loading the project; ask again in a few seconds, or with a longer wait, for a semantic answer';

export const withNote = <T extends Coverage>(answer: T, note: string): T => ({
  ...answer,
  notes: [note, ...answer.notes],
});

/** A name with what it is in: `Class.method`. */
export function splitSymbol(symbol: string): { readonly name: string; readonly container: string | null } {
  const parts = symbol.split(/\.|::|#/).filter((part) => part !== '');
  return { name: parts.at(-1) ?? symbol, container: parts.at(-2) ?? null };
}

export const keyOf = ({
  path,
  line,
  column,
}: {
  path: string | null;
  line: number;
  column: number;
}): string => `${path}:${line}:${column}`;

export const isNothing = ({ created, changed, deleted }: Changes): boolean =>
  created.length + changed.length + deleted.length === 0;

/** The hits that a server of this language can know of. */
export const hitsOf = (hits: readonly TextHit[], language: Language): TextHit[] =>
  hits.filter(({ path }) => languageOf(path) === language);

export const isInside = <P extends ServerPlace>(place: P): place is P & { readonly path: string } =>
  place.path !== null;

export const inside = (places: readonly ServerPlace[]): (ServerPlace & { readonly path: string })[] =>
  places.filter(isInside);

/** In batches: a server answers one question at a time, and needs no more than a few in its line. */
export async function inBatches<T, R>(
  items: readonly T[],
  size: number,
  each: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += size)
    results.push(...(await Promise.all(items.slice(i, i + size).map(each))));
  return results;
}
