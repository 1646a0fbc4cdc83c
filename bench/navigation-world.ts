import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Launch, Place } from '@reveille/navigation';
import { openDoor, openSandbox, type Sandbox } from '@reveille/worktrees';

/** A large real project that the package registries have with its sources: 3,353 modules, 37 MB. */
const PACKAGE = '@babylonjs/core@9.31.0';
const CACHE = fileURLToPath(new URL('../.cache/bench-navigation', import.meta.url));

/** The project, fetched once. Its declarations are left out, so that imports lead to the sources. */
export function obtain(): { readonly root: string; readonly files: readonly string[] } {
  const repository = join(CACHE, 'repository');
  const root = join(`${repository}.worktrees`, 'base');
  if (!existsSync(root)) {
    const stage = join(CACHE, 'stage');
    rmSync(stage, { recursive: true, force: true });
    mkdirSync(stage, { recursive: true });
    mkdirSync(join(repository, '.git'), { recursive: true });
    mkdirSync(`${repository}.worktrees`, { recursive: true });
    const archive =
      execFileSync('npm', ['pack', PACKAGE, '--silent'], { cwd: stage, encoding: 'utf8' })
        .trim()
        .split('\n')
        .at(-1) ?? '';
    execFileSync('tar', ['xzf', archive, '--exclude=*.d.ts', '--exclude=*.map', '--exclude=*.wasm'], {
      cwd: stage,
    });
    const config = {
      compilerOptions: {
        allowJs: true,
        checkJs: false,
        noEmit: true,
        module: 'esnext',
        moduleResolution: 'bundler',
        target: 'esnext',
      },
      include: ['.'],
    };
    writeFileSync(join(stage, 'package', 'tsconfig.json'), JSON.stringify(config));
    renameSync(join(stage, 'package'), root);
    rmSync(stage, { recursive: true });
  }
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  return { root, files: files.toSorted() };
}

/** Another worktree with the same files. */
export function copyTree(root: string, name: string): string {
  const target = join(root, '..', name);
  if (!existsSync(target)) cpSync(root, target, { recursive: true });
  return target;
}

export const openBench = (): Promise<Sandbox> =>
  openSandbox({ setting: 'warn', warn: (text) => console.log(text), runtimeFolder: CACHE });

/** A tree as the daemon gives it to navigation: held by the sandbox, read through the door. */
export function placeIn(sandbox: Sandbox, root: string): Place & Disposable {
  const repository = join(CACHE, 'repository');
  const launch: Launch = async (command, { reads, env }) => {
    const checkout = {
      repository: { root: repository, gitDir: join(repository, '.git'), home: `${repository}.worktrees` },
      kind: 'clone',
      path: root,
      agentGitDir: join(root, '.git'),
    } as const;
    const network = { kind: sandbox.kind === 'none' ? 'on' : 'off' } as const;
    const wrapped = await sandbox.wrap(command, { checkout, write: false, network, env, reads });
    return { ...wrapped, seesUs: sandbox.kind !== 'bubblewrap' };
  };
  const files = openDoor(root, { access: 'read' });
  return { root, repository, readOnly: false, files, launch, [Symbol.dispose]: () => files.close() };
}
