import { existsSync } from 'node:fs';
import { link, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isReveilleError } from '@reveille/protocol';
import { openDoor, type FileDoor } from '../door/door.ts';
import type { Tried } from './matrix.ts';

interface Scene {
  readonly door: FileDoor;
  /** Beside the tree, with a secret in it. */
  readonly outside: string;
}

type Attempt = (scene: Scene) => Promise<unknown>;

const SECRET = 'a secret of the person';

/** Ways out of a tree for file tools. Each reads or writes what is outside, if it is let. */
const ATTACKS: Readonly<Record<string, Attempt>> = {
  'read above the tree': ({ door }) => door.readFile('../outside/secret'),
  'read by an absolute path': ({ door, outside }) => door.readFile(join(outside, 'secret')),
  'read a folder whose name only begins like the tree': ({ door }) => door.readFile(`${door.root}-2/secret`),
  'read through a link': ({ door }) => door.readFile('link'),
  'read through a folder that is a link': ({ door }) => door.readFile('folder/secret'),
  'read through /proc': ({ door }) => door.readFile('/proc/self/environ'),
  'write above the tree': ({ door }) => door.writeFile('../outside/new', 'x'),
  'write through a link': ({ door }) => door.writeFile('link', 'x'),
  'write through a link to nothing': ({ door }) => door.writeFile('dangling', 'x'),
  'write through a folder that is a link': ({ door }) => door.writeFile('folder/new', 'x'),
  'write into a second name of a file': ({ door }) => door.writeFile('hard', 'x'),
  'write to .git': ({ door }) => door.writeFile('.git/hooks/pre-commit', 'x'),
  'write to .git in another spelling': ({ door }) => door.writeFile('.GIT/config', 'x'),
  'write what an editor would run': ({ door }) => door.writeFile('.vscode/tasks.json', '{}'),
  'move a file out': ({ door }) => door.move('file', '../outside/new'),
  'delete a file outside': ({ door }) => door.deleteFile('folder/secret'),
};

const ALLOWED: Readonly<Record<string, Attempt>> = {
  'read a file': ({ door }) => door.readFile('file'),
  'write a file in a new folder': ({ door }) => door.writeFile('new/folder/file', 'x'),
  'delete a link': ({ door }) => door.deleteFile('link'),
};

/** The same door that agents' file tools go through, tried in a tree of its own; the door needs no sandbox. */
export async function tryDoor(): Promise<Tried[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reveille-doctor-door-')));
  try {
    const outside = join(folder, 'outside');
    const tree = join(folder, 'tree');
    await makeScene(tree, outside);
    using door = openDoor(tree, { access: 'write' });
    const tried: Tried[] = [];
    for (const [name, attack] of Object.entries(ATTACKS))
      tried.push(await tryAttack(name, attack, { door, outside }));
    for (const [name, attempt] of Object.entries(ALLOWED))
      tried.push(await tryAllowed(name, attempt, { door, outside }));
    return tried;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeScene(tree: string, outside: string): Promise<void> {
  for (const path of [join(tree, '.git', 'hooks'), outside, `${tree}-2`])
    await mkdir(path, { recursive: true });
  await writeFile(join(outside, 'secret'), SECRET);
  await writeFile(join(`${tree}-2`, 'secret'), SECRET);
  await writeFile(join(tree, 'file'), 'content');
  await symlink(join(outside, 'secret'), join(tree, 'link'));
  await symlink(join(outside, 'new'), join(tree, 'dangling'));
  await symlink(outside, join(tree, 'folder'));
  await link(join(outside, 'secret'), join(tree, 'hard'));
}

async function tryAttack(name: string, attack: Attempt, scene: Scene): Promise<Tried> {
  const line = { group: 'file tools', name, expected: 'refused', detail: '', gap: null } as const;
  const refusal = await attack(scene).then(
    () => new Error('it was let through'),
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  const { outside } = scene;
  const untouched =
    (await readFile(join(outside, 'secret'), 'utf8').catch(() => null)) === SECRET &&
    !existsSync(join(outside, 'new'));
  if (untouched && isReveilleError(refusal, 'not_allowed')) return { ...line, got: 'refused' };
  return { ...line, got: 'escaped', detail: refusal.message };
}

async function tryAllowed(name: string, attempt: Attempt, scene: Scene): Promise<Tried> {
  const line = { group: 'file tools', name, expected: 'works', detail: '', gap: null } as const;
  return await attempt(scene).then(
    () => ({ ...line, got: 'works' as const }),
    (error: unknown) => ({ ...line, got: 'fails' as const, detail: String(error) }),
  );
}
