import { closeSync, fdatasyncSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Letter } from './letters.ts';

/**
 * What the world outside saw, one file per session, one line per effect: `life time word …`. Nothing in it comes from
 * the engine's database, so that the two can be compared. It is also the history that an agent can show.
 *
 *   got <via> <message or run> <kind> <again> <task> <status> <request>   something was handed to the agent
 *   ack <call> …                                                          a call of the agent was answered
 *   two <lock>                                                            two agents of one task at once
 */
export interface Effect {
  readonly life: number;
  /** Wall clock, for effects of this process; the shell agents cannot tell cheaply. */
  readonly at: number | null;
  readonly words: readonly string[];
}

export class Effects {
  readonly folder: string;
  readonly life: number;
  readonly #first: () => void;
  #any = false;

  /** `first` is called when this life has had its first effect. */
  constructor(world: string, life: number, first: () => void) {
    this.folder = join(world, 'effects');
    this.life = life;
    this.#first = first;
    mkdirSync(this.folder, { recursive: true });
  }

  path(session: string): string {
    return join(this.folder, `${session}.log`);
  }

  /** On disk when it returns. */
  note(session: string, ...words: string[]): void {
    const file = openSync(this.path(session), 'a');
    try {
      writeSync(file, `${this.life} ${Date.now()} ${words.join(' ')}\n`);
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    this.happened();
  }

  /** An agent outside of this process noted something. */
  happened(): void {
    if (!this.#any) this.#first();
    this.#any = true;
  }

  got(session: string, via: string, letter: Letter): void {
    const { id, kind, again, task, status, request } = letter;
    this.note(session, 'got', via, id, kind, again ? '1' : '0', task ?? '-', status ?? '-', request ?? '-');
  }

  read(session: string): Effect[] {
    return readFile(this.path(session));
  }
}

export function readEffects(world: string): Map<string, Effect[]> {
  const folder = join(world, 'effects');
  return new Map(filesIn(folder).map((name) => [name.replace(/\.log$/, ''), readFile(join(folder, name))]));
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // killed before anything happened
  }
}

function readFile(path: string): Effect[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return []; // nothing happened there yet
  }
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [life, at, ...words] = line.split(' ');
    return { life: Number(life), at: at === '-' ? null : Number(at), words };
  });
}
