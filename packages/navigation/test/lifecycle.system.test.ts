import { spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { existsSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { familyOf, isAlive, until } from './processes.ts';
import { PATIENT, Rig, at } from './rig.ts';
import { SCRIPTED, goFiles } from './scripted.ts';

const linux = process.platform === 'linux';
const project = { 'tsconfig.json': '{ "compilerOptions": { "strict": true }, "include": ["*.ts"] }' };

describe('the end of servers', () => {
  test.runIf(linux).for(['warn', 'off'])(
    '[NAV3.10] they die with the daemon, also when it is killed (sandbox: %s)',
    async (setting) => {
      const folder = mkdtempSync(join(tmpdir(), 'navigation-held-'));
      const program = fileURLToPath(new URL('./holder.ts', import.meta.url));
      const child = spawn(process.execPath, ['--conditions=source', program, setting], {
        env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const { found, pid } = JSON.parse(line.toString()) as { found: string; pid: number };
      expect(found).toBe('semantic');
      const family = familyOf(pid);
      expect(family.every(isAlive)).toBe(true);
      child.kill('SIGKILL');
      await once(child, 'exit');
      await until(() => !family.some(isAlive));
      rmSync(folder, { recursive: true, force: true });
    },
  );

  test.runIf(linux)('[NAV3.10] none is left when navigation is disposed of', async () => {
    const rig = await Rig.open({ sources: { path: '', configured: { go: [SCRIPTED, 'deaf'] } } });
    await rig.tree('a', goFiles).ask.usages({ symbol: 'Good', file: 'all.go' }, PATIENT);
    const family = rig.navigation.figures.pids.flatMap(familyOf);
    expect(family.filter(isAlive)).not.toEqual([]);
    await rig[Symbol.asyncDispose]();
    await until(() => !family.some(isAlive));
  });
});

describe('what changes on disk', () => {
  test('[NAV3.11] edits of anybody are seen by the next question: new, changed and deleted files, open or not', async () => {
    await using rig = await Rig.open();
    const tree = rig.tree('a', {
      ...project,
      'a.ts': 'export const name = 1;\n',
      'b.ts': "import { name } from './a';\nname;\n",
    });
    const uses = async (symbol = 'name') => {
      const found = await tree.ask.usages({ symbol, file: 'a.ts' }, PATIENT);
      expect(found).toMatchObject({ found: 'semantic', complete: true });
      return at(found.usages);
    };
    expect(await uses()).toEqual(['b.ts:1', 'b.ts:2']);
    tree.write({ 'c.ts': "import { name } from './a';\nexport const other = name + 1;\n" });
    expect(await uses()).toEqual(['b.ts:1', 'b.ts:2', 'c.ts:1', 'c.ts:2']);
    tree.write({ 'b.ts': '// nothing\n' });
    expect(await uses()).toEqual(['c.ts:1', 'c.ts:2']);
    // The file that was asked about is open in the server.
    tree.write({
      'a.ts': '\n\nexport const renamed = 1;\n',
      'c.ts': "import { renamed } from './a';\nrenamed;\n",
    });
    expect(await uses('renamed')).toEqual(['c.ts:1', 'c.ts:2']);
    unlinkSync(join(tree.root, 'c.ts'));
    expect(await uses('renamed')).toEqual([]);
  });
});

describe('a definition is asked for before the disk was looked at', () => {
  const files = {
    ...project,
    'a.ts': '/** The first. */\nexport class Thing { one = 1; }\n',
    'b.ts': '/** The second. */\nexport class Thing { two = 2; }\n',
    'use.ts': "import { Thing } from './a';\nnew Thing();\n",
    'other.ts': "import { Thing } from './b';\nnew Thing();\n",
  };
  const opened = async () => {
    const rig = await Rig.open();
    const tree = rig.tree('a', files);
    const of = async (from: string, symbol = 'Thing') => {
      const answer = await tree.ask.definitions({ symbol, from }, PATIENT);
      expect(answer.found).toBe('semantic');
      return answer.definitions.map(({ path, line, doc }) => `${path}:${line} ${doc}`);
    };
    // From the second question on the server is there to be asked at once.
    expect(await of('use.ts')).toEqual(['a.ts:2 The first.']);
    expect(await of('use.ts')).toEqual(['a.ts:2 The first.']);
    return { tree, of, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
  };

  test.runIf(linux)(
    '[NAV3.26] while nothing has changed the same question is answered from memory, and nothing is left at its signal',
    async () => {
      await using rig = await Rig.open();
      const tree = rig.tree('a', { ...files, 'f.ts': "export const make = () => new Map<string, 'a'>();\n" });
      tree.write({ 'g.ts': "import { make } from './f';\nmake();\n" });
      const { signal } = new AbortController();
      const of = (from: string, symbol: string) =>
        tree.ask.definitions({ symbol, from }, { ...PATIENT, signal });
      const first = await of('g.ts', 'make');
      expect(first.definitions).toMatchObject([{ path: 'f.ts', line: 1 }]);
      const family = rig.navigation.figures.pids.flatMap(familyOf);
      for (const pid of family) process.kill(pid, 'SIGSTOP');
      expect(await of('g.ts', 'make')).toEqual(first);
      for (const pid of family.toReversed()) process.kill(pid, 'SIGCONT');
      tree.write({ 'f.ts': '\nexport const make = () => 1;\n' });
      const next = await of('g.ts', 'make');
      expect(next.definitions).toMatchObject([{ path: 'f.ts', line: 2 }]);
      expect(next.definitions[0]?.signature).not.toContain('Map');
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    },
  );

  test('[NAV3.24] it does not count if the file, or the one it leads to, was edited since', async () => {
    await using rig = await opened();
    rig.tree.write({ 'a.ts': '\n\n/** It moved. */\nexport class Thing {}\n' });
    expect(await rig.of('use.ts')).toEqual(['a.ts:4 It moved.']);
    // At the very place another name is imported now, and then the same from elsewhere.
    rig.tree.write({ 'use.ts': "import { Thing } from './b';\nnew Thing();\n" });
    expect(await rig.of('use.ts')).toEqual(['b.ts:2 The second.']);
    rig.tree.write({ 'use.ts': "// Thing\n\nimport { Thing } from './a';\nnew Thing();\n" });
    expect(await rig.of('use.ts')).toEqual(['a.ts:4 It moved.']);
    rig.tree.write({ 'b.ts': '/** The third. */\nexport class Thing {}\n' });
    expect(await rig.of('other.ts')).toEqual(['b.ts:2 The third.']);
  });

  test('[NAV3.24] it does not count if a file on the way was deleted or renamed', async () => {
    await using rig = await opened();
    renameSync(join(rig.tree.root, 'a.ts'), join(rig.tree.root, 'renamed.ts'));
    rig.tree.write({ 'use.ts': "import { Thing } from './renamed';\nnew Thing();\n" });
    expect(await rig.of('use.ts')).toEqual(['renamed.ts:2 The first.']);
    unlinkSync(join(rig.tree.root, 'renamed.ts'));
    const broken = await rig.tree.ask.definitions({ symbol: 'Thing', from: 'use.ts' }, PATIENT);
    expect(at(broken.definitions)).not.toContain('renamed.ts:2');
    expect(broken.complete && broken.notes.length === 0).toBe(false);
    unlinkSync(join(rig.tree.root, 'use.ts'));
    await expect(rig.of('use.ts')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('[NAV3.24] where the name led the last time is a guess: from another file it leads elsewhere', async () => {
    await using rig = await opened();
    expect(await rig.of('other.ts')).toEqual(['b.ts:2 The second.']);
    expect(await rig.of('use.ts')).toEqual(['a.ts:2 The first.']);
    expect(await rig.of(join(rig.tree.root, 'other.ts'))).toEqual(['b.ts:2 The second.']);
    expect(await rig.of('./use.ts')).toEqual(['a.ts:2 The first.']);
    const late = `// ${'-'.repeat(20_000)}\nimport { Thing } from './b';\nnew Thing();\n`;
    rig.tree.write({ 'late.ts': late });
    expect(await rig.of('late.ts')).toEqual(['b.ts:2 The second.']);
    expect(await rig.of('late.ts')).toEqual(['b.ts:2 The second.']);
    const same = await Promise.all(['use.ts', 'other.ts', 'late.ts', 'use.ts'].map((from) => rig.of(from)));
    expect(same.flat()).toEqual([
      'a.ts:2 The first.',
      'b.ts:2 The second.',
      'b.ts:2 The second.',
      'a.ts:2 The first.',
    ]);
  });
});

describe('inside the boundary', () => {
  test('[NAV1.7] paths are the door’s: nothing outside is asked about, shown or opened', async () => {
    await using rig = await Rig.open();
    const tree = rig.tree('a', { ...project, 'a.ts': 'export const secret = 1;\n' });
    rig.tree('b', { ...project, 'b.ts': 'export const secret = 2;\n' });
    for (const file of [
      '../b/b.ts',
      join(rig.home, 'repository.worktrees/b/b.ts'),
      '/etc/passwd',
      '.git/config',
    ])
      for (const asked of [
        () => tree.ask.usages({ symbol: 'secret', file }, PATIENT),
        () => tree.ask.definitions({ symbol: 'secret', from: file }, PATIENT),
        () => tree.ask.module({ path: file }, PATIENT),
        () => tree.ask.outline({ path: file }, PATIENT),
        () => tree.ask.typeOf({ symbol: 'secret', file }, PATIENT),
      ])
        await expect(asked(), file).rejects.toMatchObject({ name: 'ReveilleError' });
    expect(at((await tree.ask.definitions({ symbol: 'secret' }, PATIENT)).definitions)).toEqual(['a.ts:1']);
    const absolute = await tree.ask.usages({ symbol: 'secret', file: join(tree.root, 'a.ts') }, PATIENT);
    expect(at(absolute.definitions)).toEqual(['a.ts:1']);
  });

  test('[NAV1.7] a definition in a library outside is named, without its folder', async () => {
    await using rig = await Rig.open();
    const tree = rig.tree('a', { ...project, 'a.ts': 'export const list: Array<number> = [];\n' });
    const { definitions } = await tree.ask.definitions({ symbol: 'Array', from: 'a.ts' }, PATIENT);
    expect(definitions.length).toBeGreaterThan(0);
    for (const { path, outside, text } of definitions) {
      expect({ outside, text }).toEqual({ outside: true, text: '' });
      expect(path).toMatch(/^lib\/lib\..*\.d\.ts$/);
    }
  });

  test('[NAV1.8] a server is held by the sandbox: it reads the tree, and can do nothing else', async () => {
    await using rig = await Rig.open({ sources: { path: '', configured: { go: [SCRIPTED] } } });
    if (rig.sandboxKind !== 'bubblewrap') return;
    const secret = join(rig.home, 'secret.txt');
    writeFileSync(secret, 'x');
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const tree = rig.tree('a', {
      ...goFiles,
      'spy.txt': secret,
      'port.txt': String(port),
      'pid.txt': String(process.pid),
    });
    const { signature } = await tree.ask.typeOf({ symbol: 'Spy', file: 'all.go' }, PATIENT);
    server.close();
    expect(JSON.parse(signature ?? '')).toEqual({
      writes: false,
      reads: false,
      sees: false,
      connects: false,
    });
    expect(existsSync(join(tree.root, 'written.txt'))).toBe(false);
  });

  test('[NAV1.8] no plugin of the repository is run', async () => {
    await using rig = await Rig.open({ sandbox: 'off' });
    const marker = join(rig.home, 'ran');
    const plugin = `require('fs').writeFileSync(${JSON.stringify(marker)}, 'x'); module.exports = () => ({ create: (i) => i.languageService });`;
    const tree = rig.tree('a', {
      'tsconfig.json': '{ "compilerOptions": { "plugins": [{ "name": "evil" }] }, "include": ["*.ts"] }',
      'package.json': '{ "name": "a", "dependencies": { "evil": "1.0.0" } }',
      'node_modules/evil/package.json': '{ "name": "evil", "version": "1.0.0", "main": "index.js" }',
      'node_modules/evil/index.js': plugin,
      'a.ts': 'export const x = 1;\nx;\n',
    });
    expect(await tree.ask.usages({ symbol: 'x', file: 'a.ts' }, PATIENT)).toMatchObject({
      found: 'semantic',
    });
    expect(existsSync(marker)).toBe(false);
  });
});
