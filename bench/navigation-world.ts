import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Launch, Place } from '@reveille/navigation';
import { openDoor, openSandbox, type Sandbox } from '@reveille/worktrees';
import { CACHE, type Project } from './navigation-projects.ts';

/** Another worktree with the same files. */
export function copyTree(root: string, name: string): string {
  const target = join(root, '..', name);
  if (!existsSync(target)) cpSync(root, target, { recursive: true });
  return target;
}

export const openBench = (): Promise<Sandbox> =>
  openSandbox({ setting: 'warn', warn: (text) => console.log(text), runtimeFolder: CACHE });

/** A tree as the daemon gives it to navigation: held by the sandbox, read through the door. */
export function placeIn(
  sandbox: Sandbox,
  { root, repository }: Pick<Project, 'root' | 'repository'>,
): Place & Disposable {
  const launch: Launch = async (command, { reads, env }) => {
    const checkout = {
      repository: {
        root: repository,
        gitDir: join(repository, '.git'),
        home: `${repository}.worktrees`,
        objectStores: [],
      },
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
