import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, symlinkSync, utimesSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { catalogue } from '@reveille/agents';
import { place, simple } from './place.ts';

describe('where definitions are found', () => {
  test('[AGT5.1] nearest first: the repository, the home, the built-ins; in each the three folders in order', () => {
    using at = place();
    const folders = ['repository', 'home'].flatMap((root) =>
      ['.reveille', '.github', '.claude'].map((vendor) => `${root}/${vendor}/agents/coder.agent.md`),
    );
    for (const folder of folders) at.write(folder, ...simple('coder', `You are ${folder}.`));
    for (const folder of folders) {
      expect(at.agents.get('coder')?.instructions).toBe(`You are ${folder}.`);
      at.remove(folder);
    }
    expect(at.agents.get('coder')).toMatchObject({ place: 'builtin' });
  });

  test('[AGT5.1] the others of its name are listed as hidden', () => {
    using at = place();
    at.write('repository/.claude/agents/coder.md', ...simple('coder'));
    at.write('home/.claude/agents/coder.md', ...simple('coder'));
    const entries = at.agents.list().filter(({ definition }) => definition.name === 'coder');
    expect(entries.map(({ definition, state }) => [definition.place, state])).toEqual([
      ['repository', 'used'],
      ['home', 'hidden'],
      ['builtin', 'hidden'],
    ]);
    expect(at.agents.names().filter((name) => name === 'coder')).toHaveLength(1);
  });

  test('[AGT5.1] a repository that is the home is the person’s own and needs no trust', () => {
    using at = place();
    at.write('home/.claude/agents/mine.md', ...simple('mine'));
    const link = join(at.root, 'link');
    symlinkSync(at.home, link);
    const agents = catalogue({ repository: link, home: at.home, isTrusted: () => false });
    expect(agents.get('mine')).toMatchObject({ place: 'home' });
    expect(agents.list().filter(({ definition }) => definition.name === 'mine')).toHaveLength(1);
    agents.close();
  });

  test('[AGT5.1] without a repository, and with nothing at all in the home', () => {
    using at = place();
    const agents = catalogue({ home: join(at.root, 'nowhere'), isTrusted: () => false });
    expect(agents.names()).toHaveLength(8);
    expect(agents.problems()).toEqual([]);
    agents.close();
  });

  test('[AGT5.6] two files of one folder with one name', () => {
    using at = place();
    const first = at.write('home/.claude/agents/a.md', ...simple('twin', 'the first'));
    const second = at.write('home/.claude/agents/b.md', ...simple('Twin', 'the second'));
    expect(at.agents.get('twin')?.instructions).toBe('the first');
    expect(at.agents.problems()).toMatchObject([
      { path: second, message: `the name twin is already that of ${first}` },
    ]);
  });

  test('[AGT5.9] core asks by name: who exists, and who reports by its last message', () => {
    using at = place({ isTrusted: ({ name }) => name !== 'stranger' });
    at.write(
      'repository/.claude/agents/quiet.md',
      '---',
      'name: quiet',
      'description: d',
      'reportsByLastMessage: true',
      '---',
      'x',
    );
    at.write('repository/.claude/agents/stranger.md', ...simple('stranger'));
    expect(at.agents.names()).toEqual(at.agents.names().toSorted());
    expect(at.agents.names()).toContain('quiet');
    expect(at.agents.names()).not.toContain('stranger');
    expect(at.agents.reportsByLastMessage({ backend: 'claude', name: 'quiet' })).toBe(true);
    expect(at.agents.reportsByLastMessage({ backend: 'claude', name: 'coder' })).toBe(false);
    expect(at.agents.reportsByLastMessage({ backend: 'claude', name: 'nobody' })).toBe(false);
  });
});

describe('what is refused', () => {
  test('[AGT5.5] links out of the folder, links to nowhere, pipes; a link inside is followed', () => {
    using at = place();
    at.write('secret.md', ...simple('secret'));
    at.write('repository/other.md', ...simple('other'));
    at.write('repository/.claude/agents/real.md', ...simple('real'));
    const folder = join(at.repository, '.claude/agents');
    symlinkSync(join(at.root, 'secret.md'), join(folder, 'secret.md'));
    symlinkSync('../../other.md', join(folder, 'other.md'));
    symlinkSync('nowhere.md', join(folder, 'dangling.md'));
    symlinkSync(at.root, join(folder, 'all'));
    symlinkSync('.', join(folder, 'again'));
    mkdirSync(join(folder, 'below'));
    writeFileSync(join(folder, 'below/kept.txt'), simple('linked').join('\n'));
    symlinkSync('below/kept.txt', join(folder, 'linked.md'));
    execFileSync('/usr/bin/env', ['mkfifo', join(folder, 'pipe.md')]);
    const own = at.agents.list().filter(({ definition }) => definition.place === 'repository');
    expect(own.map(({ definition }) => definition.name)).toEqual(['linked', 'real']);
    const said = new Map(at.agents.problems().map(({ path, message }) => [path, message]));
    expect(said.get(join(folder, 'secret.md'))).toBe('the link leads out of its folder');
    expect(said.get(join(folder, 'other.md'))).toBe('the link leads out of its folder');
    expect(said.get(join(folder, 'all'))).toBe('the link leads out of its folder');
    expect(said.get(join(folder, 'dangling.md'))).toBe('the link leads nowhere');
    expect(said.get(join(folder, 'pipe.md'))).toBe('this is not a file');
    expect(said.size).toBe(5);
  });

  test('[AGT5.5] a folder that leads out of the repository', () => {
    using at = place();
    at.write('outside/x.md', ...simple('x'));
    mkdirSync(join(at.repository, '.claude'));
    symlinkSync(join(at.root, 'outside'), join(at.repository, '.claude/agents'));
    expect(at.agents.get('x')).toBeUndefined();
    expect(at.agents.problems()[0]?.message).toBe(`the folder is a link that leads out of ${at.repository}`);
  });

  test('[AGT5.5] a folder that leads elsewhere in the repository is followed', () => {
    using at = place();
    at.write('repository/.github/agents/x.md', ...simple('x'));
    mkdirSync(join(at.repository, '.claude'));
    symlinkSync('../.github/agents', join(at.repository, '.claude/agents'));
    expect(at.agents.get('x')).toBeDefined();
    expect(at.agents.problems()).toEqual([]);
  });

  test('[AGT5.5] a file that is too large, and one that is no text', () => {
    using at = place();
    at.write('home/.claude/agents/large.md', ...simple('large', 'x'.repeat(256 * 1024)));
    const binary = join(at.home, '.claude/agents/binary.md');
    writeFileSync(binary, Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]));
    expect(at.agents.problems().map(({ message }) => message)).toEqual([
      'the file is not UTF-8 text',
      'the file is larger than 262144 bytes',
    ]);
    expect(at.agents.names()).not.toContain('large');
  });

  test('[AGT5.5] more files than anybody has', () => {
    using at = place();
    for (let i = 0; i < 302; i++)
      at.write(`home/.claude/agents/a${String(i).padStart(3, '0')}.md`, ...simple(`a${i}`));
    expect(at.agents.names()).toContain('a299');
    expect(at.agents.names()).not.toContain('a300');
    expect(at.agents.problems()[0]?.message).toMatch(/more than 300 files/);
  });

  test('[AGT5.5] a folder that is filled to keep us busy is not read', () => {
    using at = place();
    const folder = join(at.repository, '.claude/agents');
    at.write('repository/.claude/agents/x.md', ...simple('x'));
    for (let i = 0; i < 5_000; i++) linkSync(join(folder, 'x.md'), join(folder, `${i}.txt`));
    expect(at.agents.names()).not.toContain('x');
    expect(at.agents.problems()[0]?.message).toBe('there are more than 5000 entries; the folder is not read');
  });

  test('[AGT5.5] a file where a folder should be; pages that are no definitions are passed over', () => {
    using at = place();
    at.write('repository/.claude/agents', 'not a folder');
    at.write('home/.claude/agents/README.md', '# Our agents');
    at.write('home/.claude/agents/notes.txt', 'x');
    expect(at.agents.problems().map(({ message }) => message)).toEqual(['this is not a folder']);
  });
});

describe('trust', () => {
  test('[AGT5.7] the repository’s count only after their content was trusted; the home’s and ours need none', () => {
    const trusted = new Set<string>();
    using at = place({ isTrusted: ({ kind, name, content }) => trusted.has(`${kind} ${name} ${content}`) });
    const lines = simple('coder', 'the repository’s');
    at.write('repository/.reveille/agents/coder.md', ...lines);
    at.write('home/.reveille/agents/mine.md', ...simple('mine'));
    expect(at.agents.get('coder')).toMatchObject({ place: 'builtin' });
    expect(at.agents.get('mine')).toBeDefined();
    expect(at.agents.list()).toContainEqual(
      expect.objectContaining({ state: 'untrusted', definition: expect.objectContaining({ name: 'coder' }) }),
    );
    trusted.add(`agent coder ${lines.join('\n')}`);
    expect(at.agents.get('coder')?.instructions).toBe('the repository’s');
    at.write('repository/.reveille/agents/coder.md', ...simple('coder', 'something else'));
    expect(at.agents.get('coder')).toMatchObject({ place: 'builtin' });
  });

  test('[AGT5.7] trust that was given is seen at once when told so', () => {
    let trusted = false;
    using at = place({ isTrusted: () => trusted, recheckMs: 3_600_000 });
    at.write('repository/.claude/agents/x.md', ...simple('x'));
    at.agents.refresh();
    expect(at.agents.names()).not.toContain('x');
    trusted = true;
    at.agents.refresh();
    expect(at.agents.names()).toContain('x');
  });
});

describe('changes', () => {
  test('[AGT5.8] files that appear, change, move and go are seen by the next question', () => {
    using at = place();
    expect(at.agents.names()).not.toContain('x');
    const path = at.write('repository/.claude/agents/x.md', ...simple('x', 'one'));
    expect(at.agents.get('x')?.instructions).toBe('one');
    at.write('repository/.claude/agents/x.md', ...simple('x', 'two'));
    expect(at.agents.get('x')?.instructions).toBe('two');
    renameSync(path, join(at.repository, '.claude/agents/y.txt'));
    expect(at.agents.get('x')).toBeUndefined();
    at.remove('repository/.claude');
    expect(at.agents.problems()).toEqual([]);
  });

  test('[AGT5.8] a change of the same length that keeps the time of the file', () => {
    using at = place();
    const path = at.write('home/.claude/agents/x.md', ...simple('x', 'one'));
    const then = new Date('2020-01-01');
    utimesSync(path, then, then);
    expect(at.agents.get('x')?.instructions).toBe('one');
    at.write('home/.claude/agents/x.md', ...simple('x', 'two'));
    utimesSync(path, then, then);
    expect(at.agents.get('x')?.instructions).toBe('two');
  });

  test('[AGT5.8] the same problem in another line is seen', () => {
    using at = place();
    at.write('home/.claude/agents/x.md', '---', 'name: x', 'description: d', 'tools:', '---', 'y');
    expect(at.agents.problems()).toMatchObject([{ line: 4 }]);
    at.write('home/.claude/agents/x.md', '---', 'name: x', 'tools:', 'description: d', '---', 'y');
    expect(at.agents.problems()).toMatchObject([{ line: 3 }]);
  });

  test('[AGT5.8] what did not change is not read again', () => {
    using at = place();
    at.write('home/.claude/agents/x.md', ...simple('x'));
    const before = at.agents.get('x');
    at.write('home/.claude/agents/y.md', ...simple('y'));
    expect(at.agents.get('y')).toBeDefined();
    expect(at.agents.get('x')).toBe(before);
  });

  test('[AGT5.8] within the time of a look nothing is looked for again', () => {
    using at = place({ recheckMs: 3_600_000 });
    at.agents.close();
    at.write('home/.claude/agents/x.md', ...simple('x'));
    expect(at.agents.names()).not.toContain('x');
    at.agents.refresh();
    expect(at.agents.names()).toContain('x');
  });

  test('[AGT5.8] whoever listens hears of a change without asking, of folders too that were not there', async () => {
    using at = place({ recheckMs: 3_600_000 });
    if (!canWatch(at.home)) {
      // A machine that has no watches left: reading finds what nobody can hear.
      at.write('home/.claude/agents/x.md', ...simple('x'));
      at.agents.refresh();
      expect(at.agents.names()).toContain('x');
      return;
    }
    const text = () => at.agents.get('x')?.instructions;
    const told = async (holds: () => boolean, act: () => void) => {
      const heard = until(at.agents, holds);
      act();
      await heard;
      // What was told besides is heard in these turns, so that it does not stand in for what comes next.
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    const writing = (words: string) =>
      told(
        () => text() === words,
        () => at.write('home/.claude/agents/x.md', ...simple('x', words)),
      );
    const removing = (path: string) =>
      told(
        () => text() === undefined,
        () => at.remove(path),
      );
    await writing('one');
    await writing('two');
    await removing('home/.claude');
    await writing('three');
    // Each folder on the way is another one now; what happens in it must still be heard.
    await removing('home/.claude/agents');
    await writing('four');
  });

  test('[AGT5.8] after closing nothing is watched, nothing is called, and reading still works', () => {
    using at = place();
    let calls = 0;
    at.agents.onChange(() => calls++);
    at.agents.close();
    at.write('home/.claude/agents/x.md', ...simple('x'));
    expect(at.agents.names()).toContain('x');
    expect(calls).toBe(0);
  });
});

type Agents = ReturnType<typeof catalogue>;

/** Resolves when a change was told after which it holds. */
function until(agents: Agents, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = agents.onChange(() => {
      if (!holds()) return;
      stop();
      resolve();
    });
  });
}

function canWatch(folder: string): boolean {
  try {
    watch(folder, { persistent: false }).close();
    return true;
  } catch {
    return false;
  }
}
