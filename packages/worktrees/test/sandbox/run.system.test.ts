import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { confinementIn, makeScene, type Scene } from '../../src/doctor/scene.ts';
import { findGroups } from '../../src/sandbox/cgroup.ts';
import { findKeeper } from '../../src/sandbox/keeper.ts';
import { openSandbox, probeSandbox, Sandbox } from '../../src/sandbox/sandbox.ts';
import { found, hasSandbox, unlessSkipped } from './here.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await makeScene();
});
afterAll(async () => scene[Symbol.asyncDispose]());

const options = () => ({ warn: () => {}, home: scene.home, env: scene.env });

/** What must be the same with a sandbox and without one. */
const SETTINGS = hasSandbox ? (['require', 'off'] as const) : (['off'] as const);

describe.each(SETTINGS)('running a command, sandbox: %s', (setting) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await openSandbox({ ...options(), setting });
  });
  afterAll(async () => sandbox.close());

  test('[BND2.14] gives code, signal and both streams', async () => {
    const ran = await sandbox.run('echo out; echo err >&2; exit 7', confinementIn(scene));
    expect(ran).toMatchObject({ code: 7, signal: null, truncated: false, ended: null });
    // Two pipes: which of them is read first is not ours to say.
    expect(ran.output.split('\n').toSorted()).toEqual(['', 'err', 'out']);
  });

  test('[BND2.14] starts in the tree, with what it is given to read', async () => {
    const ran = await sandbox.run('pwd; cat', confinementIn(scene), { stdin: 'words\n' });
    expect(ran.output).toBe(`${scene.checkout.path}\nwords\n`);
    expect((await sandbox.run(['cat'], confinementIn(scene))).output).toBe('');
    // It may not want them.
    expect((await sandbox.run(['true'], confinementIn(scene), { stdin: 'x'.repeat(1_000_000) })).code).toBe(
      0,
    );
  });

  test('[BND2.12] arguments arrive as they are; only a string is for the shell', async () => {
    const odd = [
      '$(id)',
      '`id`',
      ';id',
      '&& id',
      '| id',
      '"',
      "'",
      '\\',
      '\n',
      '*',
      '~',
      '-n',
      '--',
      '--bind',
      '',
    ];
    const ran = await sandbox.run(['printf', '[%s]', ...odd], confinementIn(scene));
    expect(ran.output).toBe(odd.map((arg) => `[${arg}]`).join(''));
  });

  test('[BND2.14] a program that is not there ends with 127 or an error, and words', async () => {
    const ran = await sandbox
      .run(['no-such-program'], confinementIn(scene))
      .catch((error: Error) => ({ code: 127, output: error.message }));
    expect(ran.code).toBe(127);
    expect(ran.output).toContain('no-such-program');
    await expect(sandbox.run([], confinementIn(scene))).rejects.toMatchObject({ code: 'invalid_input' });
  });

  test('[BND2.14] a command that hears TERM ends in its own way', async () => {
    const stop = new AbortController();
    const ran = await sandbox.run(
      'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.05; done',
      confinementIn(scene),
      {
        signal: stop.signal,
        onOutput: (chunk) => chunk.includes('up') && stop.abort(),
        graceMs: 60_000,
      },
    );
    expect(ran).toMatchObject({ code: 3, ended: 'abort' });
    // The shell may have a word to say about the sleep it waited for.
    expect(ran.output).toMatch(/^bye$/m);
  });

  test('[BND2.14] one that does not, and all it started, is killed', async () => {
    const stop = new AbortController();
    const script =
      'trap "" TERM; (trap "" TERM; while :; do sleep 0.05; done) & echo up; while :; do sleep 0.05; done';
    const ran = await sandbox.run(script, confinementIn(scene), {
      signal: stop.signal,
      onOutput: () => stop.abort(),
      graceMs: 50,
    });
    expect(ran).toMatchObject({ ended: 'abort', output: 'up\n' });
    expect(ran.code).not.toBe(0);
  });

  test('[BND2.14] out of time is the same, and says so', async () => {
    const ran = await sandbox.run(['sleep', '1000'], confinementIn(scene), { timeoutMs: 50 });
    expect(ran.ended).toBe('timeout');
  });

  test('[BND2.14] what was given up before is not started', async () => {
    const reason = new Error('no longer wanted');
    await expect(
      sandbox.run(['true'], confinementIn(scene), { signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });

  test('[BND2.14] what it leaves running ends with it, and does not hold it up', async () => {
    const ran = await sandbox.run(
      'sleep 1000 & (trap "" TERM HUP; sleep 1000) & echo done',
      confinementIn(scene),
    );
    expect(ran).toMatchObject({ code: 0, output: 'done\n' });
  });

  test('[BND2.14] of an output without end the beginning and the end are kept', async () => {
    let heard = 0;
    const script = 'echo first; head -c 30000000 /dev/zero | tr "\\0" x; echo; echo last';
    const ran = await sandbox.run(script, confinementIn(scene), {
      maxOutputBytes: 10_000,
      onOutput: (chunk) => (heard += chunk.length),
    });
    expect(ran.truncated).toBe(true);
    expect(heard).toBe(30_000_012);
    expect(ran.output.length).toBeLessThan(10_100);
    expect(ran.output.startsWith('first\nx')).toBe(true);
    expect(ran.output.endsWith('x\nlast\n')).toBe(true);
    expect(ran.output).toMatch(/… \d+ bytes left out …/);
  });

  test('[BND2.14] an output that fits is whole, however it was cut up', async () => {
    const ran = await sandbox.run(
      'i=0; while [ $i -lt 500 ]; do echo "line $i"; i=$((i+1)); done',
      confinementIn(scene),
      { maxOutputBytes: 10_000 },
    );
    expect(ran.output).toBe(Array.from({ length: 500 }, (_, i) => `line ${i}\n`).join(''));
    expect(ran.truncated).toBe(false);
  });

  test('[BND2.12] nothing of our environment but what is named gets in', async () => {
    const ran = await sandbox.run(['env'], confinementIn(scene, { env: { GIVEN: 'yes' } }));
    expect(ran.output).toContain('GIVEN=yes\n');
    expect(ran.output).not.toContain(scene.secret);
    expect(ran.output).not.toMatch(/SSH_AUTH_SOCK|REVEILLE_TOKEN|API_KEY/);
  });
});

describe.skipIf(!hasSandbox)(`the sandbox${unlessSkipped}`, () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await openSandbox({ ...options(), setting: 'require' });
  });
  afterAll(async () => sandbox.close());

  test('[BND2.12] secrets are not on a command line, which anybody can read', async () => {
    const wrapped = await sandbox.wrap(['true'], confinementIn(scene, { env: { TOKEN: 'hush-hush' } }));
    expect(wrapped.argv.join(' ')).not.toContain('hush-hush');
    expect(wrapped.env['TOKEN']).toBe('hush-hush');
    await wrapped.dispose();
  });

  test('[BND2.12] what acts before a program starts acts on the command, not on bubblewrap or the bootstrap', async () => {
    const env = { LD_PRELOAD: '/no/such/library.so', LD_LIBRARY_PATH: '/x', PERL5OPT: '-Mno::such::module' };
    const withoutPerl = new Sandbox(
      { ...found, bubblewrap: { ...found.bubblewrap!, perl: null } },
      { ...options(), setting: 'require' },
    );
    for (const each of [sandbox, withoutPerl]) {
      const wrapped = await each.wrap(['true'], confinementIn(scene, { env }));
      for (const name of Object.keys(env)) expect(wrapped.env).not.toHaveProperty(name);
      await wrapped.dispose();
      const ran = await each.run(
        'echo "$LD_LIBRARY_PATH $PERL5OPT"; env',
        confinementIn(scene, { env, loopback: [] }),
      );
      expect(ran.output).toMatch(/^\/x -Mno::such::module$/m);
      expect(ran.output).not.toContain('REVEILLE_LATER');
      expect(ran.code).toBe(0);
    }
    await withoutPerl.close();
  });

  test('[BND2.14] a whole agent is spoken with, and ends when it is no longer', async () => {
    const agent =
      "require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => console.log('heard ' + line)).on('close', () => process.exit(4));";
    const wrapped = await sandbox.wrap([process.execPath, '-e', agent], confinementIn(scene));
    const child = spawn(wrapped.argv[0]!, wrapped.argv.slice(1), {
      env: wrapped.env,
      cwd: wrapped.cwd,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    child.stdin.write('one\n');
    expect(String((await once(child.stdout, 'data'))[0])).toBe('heard one\n');
    child.stdin.end();
    expect(await ended).toEqual([4, null]);
    await wrapped.dispose();
  });

  const CARRIES = ['/bin/sh', '-c', 'cat <&7; echo planted >&8; ls /proc/self/fd | tr "\\n" " "'];

  /** Starts it with descriptors of a file outside left open. */
  async function startCarrying(
    argv: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<string> {
    const outside = join(scene.folder, 'tmp', 'carried');
    await writeFile(outside, scene.secret);
    const [read, write] = [openSync(outside, 'r'), openSync(outside, 'a')];
    const [program = '', ...args] = argv;
    const stdio = ['ignore', 'pipe', 'pipe', 'ignore', 'ignore', 'ignore', 'ignore', read, write] as const;
    const child = spawn(program, args, { env, cwd: '/', stdio: [...stdio] });
    const [said] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')]);
    for (const fd of [read, write]) closeSync(fd);
    return `${said}${(await readFile(outside, 'utf8')).replace(scene.secret, '')}`;
  }

  test.skipIf(found.bubblewrap?.perl === null)(
    '[BND2.11] descriptors that were left open are closed',
    async () => {
      const wrapped = await sandbox.wrap(CARRIES, confinementIn(scene));
      const said = await startCarrying(wrapped.argv, wrapped.env);
      expect(said).not.toContain(scene.secret);
      expect(said).not.toContain('planted');
      expect(said.trim()).toBe('0 1 2 3');
      // Without what closes them it would have worked.
      const perl = wrapped.argv.indexOf(found.bubblewrap!.perl!);
      const bare = [...wrapped.argv.slice(0, perl), ...CARRIES];
      expect(await startCarrying(bare, wrapped.env)).toMatch(new RegExp(`${scene.secret}[^]*planted`));
      await wrapped.dispose();
    },
  );

  test('[BND2.14] a sandbox that cannot be set up is an error, not a failed command', async () => {
    const { checkout } = confinementIn(scene);
    const gone = { ...checkout, path: join(checkout.repository.home, 'gone') };
    await expect(sandbox.run(['true'], confinementIn(scene, { checkout: gone }))).rejects.toMatchObject({
      code: 'sandbox_missing',
      message: expect.stringContaining('gone'),
    });
  });

  test('[BND2.14] all of it dies with whoever started it, also by kill -9', async () => {
    const driver = fileURLToPath(new URL('./keeper.ts', import.meta.url));
    const { repository, path } = scene.checkout;
    const child = spawn(
      process.execPath,
      ['--conditions=source', driver, repository.root, repository.home, path],
      {
        // Its doors are in the scene, which is thrown away: killed, it cannot clean up.
        env: { ...process.env, HOME: scene.home, TMPDIR: join(scene.folder, 'tmp'), NODE_NO_WARNINGS: '1' },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const closed = once(child.stdout, 'close');
    await new Promise<void>((resolve) =>
      child.stdout.on('data', (chunk) => String(chunk).includes('up') && resolve()),
    );
    child.kill('SIGKILL');
    // Everybody in the sandbox holds this pipe: it closes when the last of them is gone.
    await closed;
  });

  test('[BND2.13] credentials are refreshed where they are, by writing and by renaming', async () => {
    const agent = join(scene.home, '.agent');
    await writeFile(join(agent, 'token'), 'one');
    const ran = await sandbox.run(
      'cat ~/.agent/token; echo two > ~/.agent/aside && mv ~/.agent/aside ~/.agent/token',
      confinementIn(scene),
    );
    expect(ran).toMatchObject({ code: 0, output: 'one' });
    expect(await readFile(join(agent, 'token'), 'utf8')).toBe('two\n');
    expect(await readdir(agent)).toEqual(['token']);
  });

  test('[BND2.13] what is named to be read can be read and not written, and its programs found', async () => {
    const tools = join(scene.folder, 'tmp', 'tools');
    await mkdir(tools, { recursive: true });
    await writeFile(join(tools, 'greet'), '#!/bin/sh\necho hello\n', { mode: 0o755 });
    await using other = await openSandbox({
      ...options(),
      setting: 'require',
      env: { PATH: `${tools}:${process.env['PATH']}` },
    });
    const ran = await other.run(
      'exec 2>&1; greet; echo x > "$TOOLS/greet" || echo refused',
      confinementIn(scene, { reads: [tools], env: { TOOLS: tools } }),
    );
    expect(ran.output).toMatch(/^hello\n[^]*refused\n$/);
    expect((await other.run('greet', confinementIn(scene))).code).toBe(127);
  });

  test('[BND2.2] a place that was empty inside is not kept for the next', async () => {
    await sandbox.run(
      'echo x > ~/left; echo x > /dev/shm/left; echo x > /var/tmp/left',
      confinementIn(scene),
    );
    expect((await sandbox.run('ls ~/left /dev/shm/left /var/tmp/left', confinementIn(scene))).code).not.toBe(
      0,
    );
  });

  test('[BND2.1] /tmp is, if it has a folder', async () => {
    await sandbox.run('echo kept > /tmp/left', confinementIn(scene));
    expect((await sandbox.run('cat /tmp/left', confinementIn(scene))).output).toBe('kept\n');
    const { tmp: _, ...without } = confinementIn(scene);
    expect((await sandbox.run('cat /tmp/left', without)).code).not.toBe(0);
  });

  test('[BND2.2] the tree is not replaced by what an agent puts at its place', async () => {
    // Nobody inside can rename the tree itself: its folder is sealed.
    const ran = await sandbox.run(
      'exec 2>&1; mv "$PWD" "$PWD.old" || ln -s / "$PWD/../x" || rmdir "$PWD" || echo refused',
      confinementIn(scene),
    );
    expect(ran.output).toMatch(/refused\n$/);
  });

  test('[BND2.4] a program that brings its own sandbox can have user namespaces, and no other', async () => {
    const script = 'command -v unshare > /dev/null || exit 0; unshare -U true';
    expect((await sandbox.run(script, confinementIn(scene, { nested: true }))).code).toBe(0);
  });

  test('[BND5.7] what an agent wrote is run inside: it finds nothing of the person there', async () => {
    const script = join(scene.checkout.path, 'verify.sh');
    await writeFile(script, 'cat "$PERSON/secret.txt" ~/.ssh/id_ed25519; echo checked\n');
    const ran = await sandbox.run('sh ./verify.sh 2>&1', confinementIn(scene));
    expect(ran.output).toMatch(/checked\n$/);
    expect(ran.output).not.toContain(scene.secret);
  });

  test('[BND2.1] a package can be installed from a file, and its tests run', async ({ skip }) => {
    const hasNpm = (await sandbox.run('command -v npm', confinementIn(scene))).code === 0;
    if (!hasNpm) skip('npm is not where the sandbox can see it');
    const { path } = scene.checkout;
    await mkdir(join(path, 'app/tool'), { recursive: true });
    await writeFile(
      join(path, 'app/package.json'),
      JSON.stringify({ name: 'app', version: '1.0.0', scripts: { test: 'node --test' } }),
    );
    await writeFile(
      join(path, 'app/tool/package.json'),
      JSON.stringify({
        name: 'tool',
        version: '1.0.0',
        main: 'index.js',
        scripts: { postinstall: 'cat "$PERSON/secret.txt" > stolen 2>/dev/null; true' },
      }),
    );
    await writeFile(join(path, 'app/tool/index.js'), 'exports.answer = 42;\n');
    await writeFile(
      join(path, 'app/app.test.js'),
      "require('node:test')('answer', () => { if (require('tool').answer !== 42) throw new Error(); });\n",
    );
    const script =
      'cd app && (cd tool && npm pack --silent) && npm install --silent --offline --no-audit --no-fund ./tool/tool-1.0.0.tgz && npm test --silent';
    const ran = await sandbox.run(
      script,
      confinementIn(scene, { env: { npm_config_update_notifier: 'false' } }),
    );
    expect(ran, ran.output).toMatchObject({ code: 0 });
    expect(await readdir(join(path, 'app/node_modules'))).toContain('tool');
    expect(await readFile(join(path, 'app/node_modules/tool/stolen'), 'utf8').catch(() => '')).not.toContain(
      scene.secret,
    );
  });
});

describe('where there is no sandbox', () => {
  const nowhere = () => ({ ...options(), env: { ...scene.env, PATH: join(scene.folder, 'empty') } });

  test('[BND2.15] required: nothing runs, and it is said what to install', async () => {
    await expect(openSandbox({ ...nowhere(), setting: 'require' })).rejects.toMatchObject({
      code: 'sandbox_missing',
      message: expect.stringMatching(/bubblewrap is not installed|sandbox/),
    });
  });

  test('[BND2.15] warned of: it is said once, and commands run', async () => {
    const said: string[] = [];
    await using sandbox = await openSandbox({
      ...nowhere(),
      setting: 'warn',
      warn: (words) => said.push(words),
    });
    expect(sandbox.kind).toBe('none');
    for (let i = 0; i < 3; i++)
      expect((await sandbox.run(['/bin/sh', '-c', 'echo ran'], confinementIn(scene))).output).toBe('ran\n');
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/without a sandbox.*nstall/s);
  });

  test('[BND2.14] a process that left the group and holds the pipes does not hold it up', async () => {
    await using sandbox = await openSandbox({ ...options(), setting: 'off' });
    const leave =
      "const { spawn } = require('node:child_process'); const left = spawn('sleep', ['1000'], { detached: true, stdio: 'inherit' }); console.log(left.pid); left.unref();";
    const ran = await sandbox.run([process.execPath, '-e', leave], confinementIn(scene));
    expect(ran.code).toBe(0);
    // A keeper or a control group has ended it, where there are such.
    if ((await findKeeper()) !== null || findGroups() !== null)
      expect(() => process.kill(Number(ran.output), 0)).toThrow('ESRCH');
    else expect(process.kill(Number(ran.output), 'SIGKILL')).toBe(true);
  });

  test('[BND2.15] off: nothing is said', async () => {
    const said: string[] = [];
    await using sandbox = await openSandbox({
      ...options(),
      setting: 'off',
      warn: (words) => said.push(words),
    });
    expect(sandbox.kind).toBe('none');
    expect(said).toEqual([]);
  });

  test('[BND2.15] a program that only has its name is found out by running it', async () => {
    const folder = join(scene.folder, 'tmp', 'fake');
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'bwrap'),
      '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2; exit 1\n',
      { mode: 0o755 },
    );
    const probe = await probeSandbox(folder);
    expect(probe.kind).toBe('none');
    expect(probe.why).toMatch(
      /may not be used here.*No permissions to create new namespace.*User namespaces/s,
    );
  });

  test('[BND2.15] a folder of the path that is relative or closed is passed over', async () => {
    expect((await probeSandbox('.:bin::/proc/1/nothing')).kind).toBe('none');
  });
});
