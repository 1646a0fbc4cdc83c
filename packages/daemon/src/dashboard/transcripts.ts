import { appendFile, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunId, TaskId, TranscriptEntry, TranscriptPage } from '@reveille/protocol';
import { redactText } from '../log/redact.ts';

interface TranscriptOptions {
  readonly folder: string;
  readonly failed: (error: unknown) => void;
  /** A file that is larger is put aside, and the one before it dropped. */
  readonly maxBytes?: number;
  readonly flushMs?: number;
}

type Unnumbered = Omit<TranscriptEntry, 'n'>;

/** What is kept in memory of a run, so that whoever follows it needs no file. */
const TAIL = 300;
/** Of one entry; the whole of it is where the agent put it. */
export const LONGEST_TEXT = 100_000;
const FORGET_MS = 30 * 86_400_000;
const WRITES_AT_ONCE = 16;

/** A run whose agent is being listened to. */
interface Live {
  readonly file: string;
  n: number;
  bytes: number;
  tail: TranscriptEntry[];
  unwritten: TranscriptEntry[];
  doing: string | null;
  over: boolean;
}

/**
 * What the agents were given, said and did, by run: `<task>/<run>.jsonl`, one entry a line, without secrets. Whoever adds
 * an entry only puts it into memory; it is written a moment later, by file, so that nobody waits for it. It is for people to
 * read: the engine never looks here, and a disk that is full costs the transcript and nothing else.
 */
export class Transcripts implements AsyncDisposable {
  readonly #options: Required<TranscriptOptions>;
  readonly #live = new Map<RunId, Live>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: TranscriptOptions) {
    this.#options = { maxBytes: 2 ** 20, flushMs: 300, ...options };
  }

  /** Begins, or goes on with the run of an earlier life. */
  open(task: TaskId, run: RunId): void {
    const known = this.#live.get(run);
    if (known) return void (known.over = false);
    const file = join(this.#options.folder, task, `${run}.jsonl`);
    // What an earlier life wrote has smaller numbers: a millisecond takes fewer than a thousand.
    const n = Date.now() * 1_000;
    this.#live.set(run, { file, n, bytes: -1, tail: [], unwritten: [], doing: null, over: false });
  }

  add(run: RunId, entry: Unnumbered): void {
    const live = this.#live.get(run);
    if (!live) return;
    const numbered = { n: ++live.n, ...entry, text: shortened(entry.text) };
    live.tail.push(numbered);
    if (live.tail.length > TAIL * 2) live.tail = live.tail.slice(-TAIL);
    live.unwritten.push(numbered);
    if (entry.kind === 'tool') live.doing = redactText(entry.text).slice(0, 200);
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.flushMs);
  }

  close(run: RunId): void {
    const live = this.#live.get(run);
    if (!live) return;
    live.over = true;
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.flushMs);
  }

  /** The last tool that its agent called. */
  doing(run: RunId): string | null {
    return this.#live.get(run)?.doing ?? null;
  }

  async runsOf(task: TaskId): Promise<RunId[]> {
    const names = await readdir(join(this.#options.folder, task)).catch(() => []);
    const runs = names.flatMap((name) => /^(run_[0-9a-z]+)\.jsonl$/.exec(name)?.[1] ?? []) as RunId[];
    const live = [...this.#live].filter(([, { file }]) => file.includes(`/${task}/`)).map(([run]) => run);
    return [...new Set([...runs, ...live])];
  }

  async read(
    task: TaskId,
    run: RunId,
    { after, limit }: { after: number; limit: number },
  ): Promise<TranscriptPage> {
    const live = this.#live.get(run);
    const first = live?.tail[0]?.n ?? Infinity;
    const all = live && after >= first - 1 ? live.tail.map(redacted) : await this.#readFiles(task, run);
    const found = all.filter(({ n }) => n > after);
    // Whoever comes first wants to see the end of it; whoever follows wants what comes next.
    const entries = after === 0 ? found.slice(-limit) : found.slice(0, limit);
    return { entries, more: after !== 0 && found.length > limit };
  }

  /** Removes what nobody will ask for any more. */
  async forget(now: number): Promise<void> {
    const { folder } = this.#options;
    for (const task of await readdir(folder).catch(() => [])) {
      const { mtimeMs } = await stat(join(folder, task));
      if (now - mtimeMs > FORGET_MS) await rm(join(folder, task), { recursive: true, force: true });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    await this.#flush();
  }

  async #readFiles(task: TaskId, run: RunId): Promise<TranscriptEntry[]> {
    await this.#flush();
    const file = join(this.#options.folder, task, `${run}.jsonl`);
    const [old = [], now = []] = await Promise.all(
      [`${file}.old`, file].map(async (path) => entriesOf(await readFile(path, 'utf8').catch(() => ''))),
    );
    return [...old, ...now.filter(({ text }) => old.length === 0 || text !== GAP)];
  }

  #flush(): Promise<void> {
    return (this.#writing = this.#writing.then(() => this.#write()));
  }

  async #write(): Promise<void> {
    this.#timer = null;
    const due = [...this.#live].filter(([, { unwritten, over }]) => unwritten.length > 0 || over);
    const worker = async (): Promise<void> => {
      for (let next = due.pop(); next; next = due.pop()) {
        const [run, live] = next;
        await this.#append(live).catch(this.#options.failed);
        if (live.over && live.unwritten.length === 0) this.#live.delete(run);
      }
    };
    await Promise.all(Array.from({ length: Math.min(WRITES_AT_ONCE, due.length) }, worker));
  }

  async #append(live: Live): Promise<void> {
    const entries = live.unwritten.splice(0);
    if (entries.length === 0) return;
    const { file } = live;
    if (live.bytes < 0) {
      await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
      live.bytes = (await stat(file).catch(() => null))?.size ?? 0;
    }
    let text = `${entries.map((entry) => JSON.stringify(redacted(entry))).join('\n')}\n`;
    if (live.bytes > 0 && live.bytes + text.length > this.#options.maxBytes) {
      await rename(file, `${file}.old`);
      live.bytes = 0;
      text = `${JSON.stringify(gapBefore(entries[0]))}\n${text}`;
    }
    await appendFile(file, text, { mode: 0o600 });
    live.bytes += text.length;
  }
}

const shortened = (text: string): string =>
  text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}… (${text.length} characters)` : text;

const GAP = 'Earlier entries were left out: the transcript is too long.';

/** Begins every file but the first of a run. It counts where the file before it is gone. */
const gapBefore = ({ n = 0, at = 0 }: Partial<TranscriptEntry> = {}): TranscriptEntry => ({
  n: n - 0.5,
  at,
  kind: 'note',
  text: GAP,
});

const redacted = (entry: TranscriptEntry): TranscriptEntry => ({ ...entry, text: redactText(entry.text) });

const entriesOf = (text: string): TranscriptEntry[] => text.split('\n').flatMap(entryOf);

/** Half a line is what a crash left. */
function entryOf(line: string): TranscriptEntry[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as TranscriptEntry];
  } catch {
    return [];
  }
}
