import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunEnd } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { delegated } from './delegated.ts';
import { House } from './house.ts';

const VENDORS = ['codex', 'gemini', 'copilot', 'opencode'] as const;

/** Answers a request for what `$1` says, by the number it came with. */
const ANSWER = `answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$(printf '%s' "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')" "$1"; }`;
const SPEAKS = (version: number): string =>
  `answer '"result":{"protocolVersion":${version},"agentCapabilities":{},"authMethods":[]}'`;

/** What is wrong with an agent, as a program. */
const BAD: readonly (readonly [string, string, string, RegExp])[] = [
  ['crashes at its start', 'echo "left-pad is missing" >&2; exit 3', 'invalid', /left-pad[\s\S]*npm install/],
  [
    'is too old to know the protocol',
    'echo "error: unknown option" >&2; exit 1',
    'invalid',
    /unknown option[\s\S]*up to date: npm install/,
  ],
  [
    'speaks an older protocol',
    `${ANSWER}; while read -r line; do ${SPEAKS(0)}; done`,
    'invalid',
    /another version[\s\S]*up to date: npm install/,
  ],
  ['writes garbage', 'echo hello; echo "{ no"; exit 0', 'invalid', /exit code 0[\s\S]*npm install/],
  [
    'wants a login',
    `${ANSWER}; read -r line; ${SPEAKS(1)}; while read -r line; do answer '"error":{"code":-32000,"message":"Authentication required"}'; done`,
    'auth',
    /not logged in[\s\S]*(?:run|set) /,
  ],
];

/** Each vendor's program is a file of ours. */
class BadHouse extends House {
  constructor(initializeMs: number) {
    super();
    mkdirSync(this.place.home, { mode: 0o700 });
    mkdirSync(join(this.folder, 'programs'));
    const programs = VENDORS.map((name) => [name, { program: this.#program(name) }] as const);
    const acp = { initializeMs, ...Object.fromEntries(programs) };
    writeFileSync(join(this.place.home, 'config.yaml'), JSON.stringify({ acp }));
  }

  #program(name: string): string {
    return join(this.folder, 'programs', name);
  }

  uninstall(name: string): void {
    rmSync(this.#program(name), { force: true });
  }

  install(name: string, source: string): void {
    const program = this.#program(name);
    rmSync(program, { force: true });
    writeFileSync(program, `#!/bin/sh\n${source}\n`);
    chmodSync(program, 0o755);
  }

  /** How a task ended that a chat handed to it, once the chat has been told. */
  async tried(name: string): Promise<RunEnd | null> {
    const client = await this.connect();
    const { task, heard } = await delegated(client, { agentType: `${name}:coder`, prompt: 'Do it.' });
    await heard('end');
    return (await client.getTask(task)).end;
  }
}

describe('an agent that cannot be had', () => {
  let house: BadHouse;
  beforeAll(() => {
    // However busy the machine is.
    house = new BadHouse(600_000);
  });
  afterAll(() => house[Symbol.asyncDispose]());

  test.each(VENDORS)(
    '[EXE10.15][AGT2.20] %s is not installed: its work is refused with the fix, until it is there',
    async (name) => {
      house.uninstall(name);
      await expect(house.tried(name)).rejects.toThrow(/is not installed[\s\S]*npm install/);
      // At once, however fresh the list of those that are installed is.
      house.install(name, 'exit 3');
      expect((await house.tried(name))?.error).toMatchObject({ class: 'invalid' });
    },
  );

  for (const name of VENDORS)
    test.each(BAD)(`[EXE10.15] ${name} %s: its parent is told, with the fix`, async (...bad) => {
      const [, source, errorClass, message] = bad;
      house.install(name, source);
      const end = await house.tried(name);
      expect(end?.error).toMatchObject({ class: errorClass, message: expect.stringMatching(message) });
    });
});

describe('an agent that hangs', () => {
  let house: BadHouse;
  beforeAll(() => {
    house = new BadHouse(300);
  });
  afterAll(() => house[Symbol.asyncDispose]());

  test.concurrent.each(VENDORS)(
    '[EXE10.15] %s hangs at its first message: its parent is told, with the fix',
    async (name) => {
      house.install(name, 'exec sleep 600');
      const end = await house.tried(name);
      const message = expect.stringMatching(/did not answer[\s\S]*by hand/);
      expect(end?.error).toMatchObject({ class: 'unresponsive', message });
    },
  );
});
