import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { withScript, type WrittenScript } from '@reveille/executors';
import { OwnHouse } from '../../../test/house.ts';
import { hasSandbox } from '../../../test/sandbox.ts';
import { run, type Ran } from './io.ts';

export { processesOf, until } from '../../../test/house.ts';

const BINARY = fileURLToPath(new URL('../bin/reveille.cjs', import.meta.url));

export type Child = ChildProcessByStdio<Writable, Readable, Readable>;
type Options = Omit<Parameters<typeof run>[1] & object, 'env'>;

/** What a daemon without a sandbox has the first command say that starts work. */
const NO_SANDBOX = /^Warning: Agents and commands run without a sandbox: .*\n/m;

const withoutWarning = (err: string): string => (hasSandbox ? err : err.replace(NO_SANDBOX, ''));

/** Of a person at the command line. */
export class House extends OwnHouse {
  constructor(env: NodeJS.ProcessEnv = {}) {
    super({}, env);
    // What tests write here is no uncommitted change.
    writeFileSync(join(this.repository, '.git', 'info', 'exclude'), '*\n');
  }

  /** A command in this process, on this person's daemon; without the warning of a machine that has no sandbox. */
  async run(args: readonly string[], options: Options = {}): Promise<Ran> {
    const ran = await run(args, { cwd: this.repository, env: this.env, ...options });
    return { ...ran, err: withoutWarning(ran.err) };
  }

  /** What a command that succeeds prints as JSON. */
  async json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
    const { code, out, err } = await this.run([...args, '--json']);
    if (code !== 0) throw new Error(`reveille ${args.join(' ')} ended with ${code}: ${out}${err}`);
    return JSON.parse(out) as T;
  }

  /** The program itself, in a process of its own. */
  start(args: readonly string[]): Child {
    return spawn(process.execPath, [BINARY, ...args], {
      cwd: this.repository,
      env: this.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  /** A plan whose tasks do what their scripts say. */
  plan(name: string, tasks: Readonly<Record<string, WrittenScript>>, also: object = {}): string {
    return this.write(`${name}.yaml`, this.planText(name, tasks, also));
  }

  planText(name: string, tasks: Readonly<Record<string, WrittenScript>>, also: object = {}): string {
    const written = Object.entries(tasks).map(([id, script]) => ({
      id,
      agent: 'scripted:agent',
      prompt: withScript('Do.', script),
      ...also,
    }));
    return JSON.stringify({ name, integrate: false, tasks: written });
  }
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Reads a process until it ends; `wrote` is told each time it writes. */
export async function ended(child: Child, wrote: (out: string) => void = () => undefined): Promise<Ended> {
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    wrote(out);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err: withoutWarning(err) };
}
