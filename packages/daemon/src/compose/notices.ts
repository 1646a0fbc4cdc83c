import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Change } from '@reveille/core';
import type { Request } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';

/** What is told together: a storm of requests is one notice. */
const EVERY_MS = 5_000;

interface NoticesOptions {
  readonly desktop: Config['notify']['desktop'];
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly log: Pick<Log, 'warn'>;
}

/** Tells the person's desktop what came into their inbox. Whoever has none, or no program for it, is not told. */
export class DesktopNotices {
  readonly #program: Program | null;
  readonly #options: NoticesOptions;
  #waiting: Request[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(options: NoticesOptions) {
    this.#options = options;
    this.#program = options.desktop === 'off' ? null : programOf(options);
  }

  /** Whether there is anybody to tell. */
  get tells(): boolean {
    return this.#program !== null;
  }

  heard({ writes }: Pick<Change, 'writes'>): void {
    if (!this.tells) return;
    const came = writes.flatMap(({ table, doc }) => (table === 'request' ? [doc as Request] : []));
    // What moves to the person, and what begins there.
    const own = came.filter(({ state, with: holder }) => state === 'open' && holder === null);
    if (own.length === 0) return;
    this.#waiting.push(...own);
    if (this.#timer) return;
    this.#tell();
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#waiting.length > 0) this.#tell();
    }, EVERY_MS).unref();
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }

  #tell(): void {
    const [first, ...others] = this.#waiting.splice(0);
    if (!first || !this.#program) return;
    const title = others.length > 0 ? `${others.length + 1} requests wait for you` : TITLES[first.kind];
    const { command, args } = this.#program(title, words(first.text));
    const child = spawn(command, args, { stdio: 'ignore', env: this.#options.env });
    child.on('error', (error) => this.#options.log.warn('no desktop notice', { error: String(error) }));
    child.unref();
  }
}

const TITLES: { readonly [K in Request['kind']]: string } = {
  question: 'A worker asks you',
  approval: 'A worker wants your approval',
  review: 'Work waits for your review',
  idle: 'A worker is silent',
  failure: 'A task has failed',
  escape: 'A worker got out of its worktree',
  plan: 'A plan waits for your approval',
  conflict: 'Branches do not go together',
  budget: 'A budget is used up',
};

/** An agent's words: data, also to a desktop that would draw markup of them. */
const words = (text: string): string =>
  `${text.replaceAll(/[<>&\p{Cc}]+/gu, ' ').slice(0, 200)} (reveille inbox)`;

type Program = (title: string, body: string) => { readonly command: string; readonly args: string[] };

function programOf({ desktop, env, platform }: NoticesOptions): Program | null {
  const seen =
    platform === 'darwin' ? !env['SSH_CONNECTION'] : Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  if (desktop === 'auto' && !seen) return null;
  const name = platform === 'darwin' ? 'osascript' : 'notify-send';
  const command = onPath(name, env);
  if (!command) return null;
  if (platform !== 'darwin')
    return (title, body) => ({ command, args: ['--app-name=Reveille', '--', title, body] });
  const script = [
    'on run argv',
    'display notification (item 2 of argv) with title (item 1 of argv)',
    'end run',
  ];
  return (title, body) => ({ command, args: [...script.flatMap((line) => ['-e', line]), title, body] });
}

function onPath(name: string, env: NodeJS.ProcessEnv): string | null {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    if (folder === '') continue;
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not there.
    }
  }
  return null;
}
