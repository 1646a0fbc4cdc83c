import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withScript, type WrittenScript } from '@reveille/executors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { House } from './house.ts';

const BRANCH = 'reveille/Shop/integration';

describe('a plan is published', () => {
  let house: House;
  const remote = (): string => join(house.folder, 'remote.git');
  const said = (program: string): string => join(house.folder, `${program}.said`);
  const pushed = (): string =>
    execFileSync('git', ['-C', remote(), 'for-each-ref', '--format=%(refname)'], { encoding: 'utf8' });

  beforeAll(async () => {
    house = new House();
    const programs = join(house.folder, 'bin');
    mkdirSync(programs);
    house.env['PATH'] = `${programs}:${house.env['PATH']}`;
    for (const program of ['gh', 'glab']) forge(program, 'exit 1');
    writeFileSync(join(house.repository, '.git', 'info', 'exclude'), '*.yaml\n');
    execFileSync('git', ['init', '-q', '--bare', remote()]);
    const script: WrittenScript = {
      steps: [{ do: 'edit', path: 'till.txt', content: 'till\n' }, { do: 'report' }],
    } as const;
    const task = { id: 'till', agent: 'scripted:agent', prompt: withScript('Do.', script) };
    house.write('Shop.yaml', JSON.stringify({ name: 'Shop', tasks: [task] }));
    expect(await house.run(['plan', 'run', 'Shop.yaml'])).toMatchObject({ code: 0 });
  });
  afterAll(() => house[Symbol.asyncDispose]());

  /** A program of a forge that writes down what it was asked. */
  function forge(program: string, then: string): void {
    const path = join(house.folder, 'bin', program);
    const script = `#!/bin/sh\nfor word in "$@"; do printf '%s\\n' "$word"; done > '${said(program)}'\n${then}\n`;
    writeFileSync(path, script);
    chmodSync(path, 0o755);
  }
  const remoteAt = (url: string): void => {
    house.git('remote', 'remove', 'origin');
    house.git('remote', 'add', 'origin', url);
    house.git('config', `url.${remote()}.pushInsteadOf`, url);
  };

  test('[PLN6.90] it is pushed to a remote that there is, with the person’s own git; their checkout stays as it is', async () => {
    const none = await house.run(['integrate', 'Shop', '--push']);
    expect(none.code).toBe(3);
    expect(none.err).toMatch(/has no remote "origin"\. It has none\. Name one with --remote\.\n$/);
    house.git('remote', 'add', 'origin', remote());
    expect(await house.run(['integrate', 'Shop', '--push'])).toMatchObject({
      code: 0,
      out: `Pushed ${BRANCH} to origin.\n`,
    });
    expect(pushed()).toBe(`refs/heads/${BRANCH}\n`);
    expect(existsSync(join(house.repository, 'till.txt'))).toBe(false);
    expect((await house.run(['integrate', 'Shop', '--push', '--remote=--upload-pack=x'])).code).toBe(3);
  });

  test('[PLN6.91] a pull request is opened by the program of the forge; its text holds facts', async () => {
    for (const [program, url] of [
      ['gh', 'https://github.example/ann/shop.git'],
      ['glab', 'git@gitlab.example:ann/shop.git'],
    ] as const) {
      remoteAt(url);
      forge(program, 'echo https://forge.example/1');
      const opened = await house.json('integrate', 'Shop', '--pr');
      expect(opened).toEqual({
        pushed: { remote: 'origin', branch: BRANCH },
        request: { url: 'https://forge.example/1' },
      });
      const words = readFileSync(said(program), 'utf8');
      expect(words).toContain(BRANCH);
      expect(words).toContain('--title=Shop\n');
      expect(words).toContain('- till: completed, 1 file, +1 −0');
    }
  });

  test('[PLN6.91] where none is opened, the branch is pushed, and the person is told why and what to run', async () => {
    remoteAt('https://github.example/ann/shop.git');
    forge('gh', 'echo "not logged in" >&2; exit 4');
    const refused = await house.run(['integrate', 'Shop', '--pr']);
    expect(refused.code).toBe(5);
    expect(refused.out).toContain('No pull request was opened: gh did not: not logged in');
    expect(refused.out).toContain(`  gh pr create --head=${BRANCH} --title=Shop '--body=`);
    remoteAt(`https://ann:secret@forge.example/shop.git`);
    const unknown = await house.run(['integrate', 'Shop', '--pr']);
    expect(unknown.out).toContain('Nothing is known of the forge at https://forge.example/shop.git.');
    expect(unknown.out).not.toContain('secret');
  });
});
