import { execFileSync } from 'node:child_process';
import {
  appendFile,
  chmod,
  chown,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findRepository, type RepositorySearch } from '@reveille/worktrees';
import { asPerson, make, Scratch } from '../creation/scratch.ts';

const KEY = 'FAKE-PRIVATE-KEY';

/** A person's machine: keys, another repository, Reveille's own folder, and `repo`, which came from a stranger. */
export class Machine {
  readonly scratch: Scratch;
  readonly repo: string;
  readonly victim: string;
  readonly own: string;

  private constructor(scratch: Scratch, repo: string, victim: string) {
    this.scratch = scratch;
    this.repo = repo;
    this.victim = victim;
    this.own = this.at('home/.local/state/reveille');
  }

  static async make(): Promise<Machine> {
    const scratch = await Scratch.make();
    const victim = await scratch.repository({ 'private.txt': 'VICTIM\n' }, 'victim');
    const machine = new Machine(scratch, await scratch.repository({ 'a.txt': 'a\n' }), victim);
    await scratch.write('home/.ssh/id', KEY);
    await scratch.write('home/.local/state/reveille/daemon.json', 'TOKEN');
    return machine;
  }

  at(path: string): string {
    return join(this.scratch.path, path);
  }

  get search(): RepositorySearch {
    return { home: null, own: [this.own] };
  }

  async alternates(...lines: string[]): Promise<void> {
    await writeFile(
      join(this.repo, '.git/objects/info/alternates'),
      lines.map((line) => `${line}\n`).join(''),
    );
  }

  /** Puts a link in the place of something, which is kept at the end of the link unless another target is given. */
  async swapForLink(path: string, target: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await rename(path, `${path}.kept`).catch(() => undefined);
    await symlink(target, path);
  }
}

export interface RepositoryAttack {
  readonly rule: string;
  readonly name: string;
  /** What the error must say. */
  readonly words: RegExp;
  /** Only root can do it, or only a user who is not. */
  readonly rootOnly?: boolean;
  /** Answers with the folder that a task is to work on; `repo` if it does not. */
  readonly prepare: (machine: Machine) => Promise<string | void>;
}

const ELSEWHERE = /does not name .* as its checkout/;
const BORROW = /objects\/info\/alternates names .* which is refused/;
const LINK = /Reveille follows no link in a git directory/;
const HOME = /Worktrees cannot be made in/;

const inGit = (rule: string, name: string, target = 'home/.ssh'): RepositoryAttack => ({
  rule,
  name: `.git/${name} is a link to ${target}`,
  words: LINK,
  prepare: async (machine) => machine.swapForLink(join(machine.repo, '.git', name), machine.at(target)),
});

const borrows = (
  name: string,
  prepare: (machine: Machine) => Promise<string | readonly string[]>,
  more: Pick<RepositoryAttack, 'rootOnly'> = {},
): RepositoryAttack => ({
  rule: 'BND6.12',
  name: `borrows objects from ${name}`,
  words: BORROW,
  ...more,
  prepare: async (machine) => machine.alternates(...[await prepare(machine)].flat()),
});

/** A folder that has the form of a repository, as far as an archive can give it. */
async function shape(machine: Machine, folder: string): Promise<string> {
  await machine.scratch.write(`${folder}/HEAD`, 'ref: refs/heads/main\n');
  for (const name of ['objects/pack', 'objects/info', 'refs'])
    await mkdir(machine.at(join(folder, name)), { recursive: true });
  return machine.at(join(folder, 'objects'));
}

export const ATTACKS: readonly RepositoryAttack[] = [
  {
    rule: 'BND6.10',
    name: 'a repository that an agent made in its worktree',
    words: /worktree that Reveille made/,
    prepare: async ({ repo, scratch }) => {
      const { checkout } = await make(repo);
      await mkdir(join(checkout.path, 'deep/n'), { recursive: true });
      await asPerson(join(checkout.path, 'deep/n'), 'init', '-q', '-b', 'main');
      await scratch.commit(join(checkout.path, 'deep/n'), { f: 'hi' });
      return join(checkout.path, 'deep/n');
    },
  },
  {
    rule: 'BND6.10',
    name: 'a worktree of ours by way of a link',
    words: /worktree that Reveille made/,
    prepare: async (machine) => {
      const { checkout } = await make(machine.repo);
      await symlink(checkout.path, machine.at('shortcut'));
      return machine.at('shortcut');
    },
  },
  {
    rule: 'BND6.10',
    name: 'the folder in which our records are',
    words: /worktree that Reveille made/,
    prepare: async ({ repo, scratch }) => {
      const { checkout } = await make(repo);
      await asPerson(checkout.room, 'init', '-q', '-b', 'main');
      await scratch.commit(checkout.room, { f: 'hi' });
      return checkout.room;
    },
  },
  ...['untracked', 'ignored'].map((kind): RepositoryAttack => ({
    rule: 'BND6.10',
    name: `a repository in an ${kind} folder of another`,
    words: /is a repository inside the repository/,
    prepare: async ({ victim, scratch }) => {
      if (kind === 'ignored') await scratch.commit(victim, { '.gitignore': 'n/\n' });
      return await scratch.repository({ f: 'hi' }, 'victim/n/m');
    },
  })),
  {
    rule: 'BND6.10',
    name: 'a repository in the git directory of another',
    words: /lies in a git directory/,
    prepare: async ({ scratch }) => await scratch.repository({ f: 'hi' }, 'victim/.git/n'),
  },
  ...['own', 'own/inside', 'around'].map((where): RepositoryAttack => ({
    rule: 'BND6.10',
    name: `a repository that is, is in, or contains Reveille's own folder (${where})`,
    words: /Reveille's own folder/,
    prepare: async ({ scratch }) => {
      const names = {
        own: 'home/.local/state/reveille',
        'own/inside': 'home/.local/state/reveille/homes/n',
        around: 'home',
      };
      return await scratch.repository({ f: 'hi' }, names[where as keyof typeof names]);
    },
  })),
  {
    rule: 'BND6.10',
    name: 'a repository whose folder is a link into Reveille’s own folder',
    words: /Reveille's own folder/,
    prepare: async (machine) => {
      await machine.scratch.repository({ f: 'hi' }, 'home/.local/state/reveille/n');
      await symlink(join(machine.own, 'n'), machine.at('n'));
      return machine.at('n');
    },
  },
  {
    rule: 'BND6.11',
    name: 'a .git file that names the git directory of another repository',
    words: ELSEWHERE,
    prepare: async (machine) => {
      await machine.scratch.write('n/.git', `gitdir: ${machine.victim}/.git\n`);
      return machine.at('n');
    },
  },
  {
    rule: 'BND6.11',
    name: 'a .git file that names it relatively, in another case of line end',
    words: ELSEWHERE,
    prepare: async (machine) => {
      await machine.scratch.write('n/.git', 'gitdir: ../victim/.git\r\n');
      return machine.at('n');
    },
  },
  {
    rule: 'BND6.11',
    name: 'a .git file that names the entry of somebody’s linked worktree',
    words: ELSEWHERE,
    prepare: async (machine) => {
      await asPerson(machine.victim, 'worktree', 'add', '-q', machine.at('side'));
      await machine.scratch.write('n/.git', `gitdir: ${machine.victim}/.git/worktrees/side\n`);
      return machine.at('n');
    },
  },
  {
    rule: 'BND6.11',
    name: 'an entry of a linked worktree that was made outside the git directory it names',
    words: ELSEWHERE,
    prepare: async (machine) => {
      for (const [name, text] of [
        ['HEAD', 'ref: refs/heads/main\n'],
        ['commondir', `${machine.victim}/.git\n`],
        ['gitdir', `${machine.at('n/.git')}\n`],
      ] as const)
        await machine.scratch.write(`worktrees/entry/${name}`, text);
      await machine.scratch.write('n/.git', `gitdir: ${machine.at('worktrees/entry')}\n`);
      return machine.at('n');
    },
  },
  {
    rule: 'BND6.11',
    name: 'a .git that is a link to the git directory of another repository',
    words: ELSEWHERE,
    prepare: async (machine) => {
      await mkdir(machine.at('n'));
      await symlink(join(machine.victim, '.git'), machine.at('n/.git'));
      return machine.at('n');
    },
  },
  {
    rule: 'BND6.11',
    name: 'a .git folder whose commondir is another repository’s',
    words: ELSEWHERE,
    prepare: async ({ repo, victim }) => writeFile(join(repo, '.git/commondir'), `${victim}/.git\n`),
  },
  {
    rule: 'BND6.11',
    name: 'a commondir that is a link to a file in the same git directory',
    words: /commondir is no plain file/,
    prepare: async ({ repo, victim }) => {
      await writeFile(join(repo, '.git/inner'), `${victim}/.git\n`);
      await symlink('inner', join(repo, '.git/commondir'));
    },
  },
  {
    rule: 'BND6.11',
    name: 'a commondir of blanks, which git takes for a name and others for nothing',
    words: ELSEWHERE,
    prepare: async ({ repo, victim }) => {
      await writeFile(join(repo, '.git/commondir'), '  \n');
      await symlink(join(victim, '.git'), join(repo, '.git/  '));
    },
  },
  ...['config', 'HEAD', 'packed-refs', 'info/exclude'].map((name): RepositoryAttack => ({
    rule: 'BND6.13',
    name: `.git/${name} is a pipe, which is waited for`,
    words: /is no file or folder/,
    prepare: async ({ repo }) => {
      await rm(join(repo, '.git', name), { force: true });
      execFileSync('mkfifo', [join(repo, '.git', name)]);
    },
  })),
  {
    rule: 'BND6.20',
    name: 'its config includes a pipe, which is waited for',
    words: /Look for a pipe/,
    prepare: async ({ repo }) => {
      execFileSync('mkfifo', [join(repo, 'pipe')]);
      await appendFile(join(repo, '.git/config'), '[include]\n\tpath = ../pipe\n');
    },
  },
  {
    rule: 'BND6.18',
    name: 'a repository of another user, round a folder of the person',
    words: /belongs to user 12345/,
    rootOnly: true,
    prepare: async (machine) => {
      const root = await machine.scratch.repository({ f: 'hi' }, 'shared');
      await chown(join(root, '.git'), 12_345, 12_345);
      await mkdir(join(root, 'mine'));
      return join(root, 'mine');
    },
  },
  {
    rule: 'BND6.13',
    name: 'a list of who is borrowed from that is a link to a file in the same git directory',
    words: LINK,
    prepare: async (machine) => {
      await writeFile(join(machine.repo, '.git/inner'), `${machine.at('home/.ssh')}\n`);
      await symlink('../../inner', join(machine.repo, '.git/objects/info/alternates'));
    },
  },
  {
    rule: 'BND6.11',
    name: 'a config that says the files are in the home (core.worktree)',
    words: /core\.worktree/,
    prepare: async (machine) =>
      void (await asPerson(machine.repo, 'config', 'core.worktree', machine.at('home'))),
  },
  {
    rule: 'BND6.11',
    name: 'the same by way of an include',
    words: /core\.worktree/,
    prepare: async (machine) => {
      await writeFile(join(machine.repo, '.git/more'), `[core]\n\tworktree = ${machine.at('home')}\n`);
      await asPerson(machine.repo, 'config', 'include.path', 'more');
    },
  },
  borrows('a folder of keys', async (machine) => machine.at('home/.ssh')),
  borrows('a folder of keys, relatively', async () => '../../../home/.ssh'),
  borrows('a folder of keys, after one that is right', async (machine) => [
    `${machine.victim}/.git/objects`,
    machine.at('home/.ssh'),
  ]),
  borrows('a link to a folder of keys', async (machine) => {
    await symlink(machine.at('home/.ssh'), machine.at('objects'));
    return machine.at('objects');
  }),
  borrows('a repository that borrows from a folder of keys', async (machine) => {
    const objects = await shape(machine, 'second.git');
    await writeFile(join(objects, 'info/alternates'), `${machine.at('home/.ssh')}\n`);
    return objects;
  }),
  borrows('a repository whose list of others is a link', async (machine) => {
    const objects = await shape(machine, 'second.git');
    await symlink(machine.at('home/.ssh/id'), join(objects, 'info/alternates'));
    return objects;
  }),
  borrows('a folder in the form of a repository among the keys', (machine) => shape(machine, 'home/.ssh/n')),
  borrows('a folder in the form of a repository in Reveille’s own', (machine) =>
    shape(machine, 'home/.local/state/reveille/n'),
  ),
  borrows('a folder of objects that holds something else too', async (machine) => {
    const objects = await shape(machine, 'second.git');
    await writeFile(join(objects, 'id'), KEY);
    return objects;
  }),
  borrows('a folder of objects with a link in it', async (machine) => {
    const objects = await shape(machine, 'second.git');
    await symlink(machine.at('home/.ssh'), join(objects, 'ab'));
    return objects;
  }),
  borrows('a folder of objects without a repository round it', async (machine) => {
    await mkdir(machine.at('lonely/objects/pack'), { recursive: true });
    return machine.at('lonely/objects');
  }),
  borrows('a folder that contains everything', async () => '/'),
  borrows('the home', async (machine) => machine.at('home')),
  borrows('Reveille’s own folder', async (machine) => machine.own),
  borrows('a folder that is not there yet', async (machine) => machine.at('later')),
  borrows('a file', async (machine) => machine.at('home/.ssh/id')),
  borrows('a quoted name', async (machine) => `"${machine.at('home/.ssh')}"`),
  borrows('a worktree of ours', async (machine) => {
    const { checkout } = await make(machine.victim);
    return join(checkout.path, '.git/objects');
  }),
  borrows(
    'a repository of another user',
    async (machine) => {
      const objects = await shape(machine, 'second.git');
      await chown(objects, 12_345, 12_345);
      return objects;
    },
    { rootOnly: true },
  ),
  {
    rule: 'BND6.12',
    name: 'the list of who is borrowed from is a link',
    words: LINK,
    prepare: async (machine) =>
      machine.swapForLink(join(machine.repo, '.git/objects/info/alternates'), machine.at('home/.ssh/id')),
  },
  ...[
    'objects',
    'objects/pack',
    'objects/info',
    'objects/ab',
    'refs',
    'refs/heads',
    'refs/reveille',
    'logs',
  ].map((name) => inGit('BND6.13', name)),
  ...['info', 'worktrees'].map((name) => inGit('BND6.13', name)),
  ...[
    'shallow',
    'info/exclude',
    'packed-refs',
    'config',
    'index',
    'refs/heads/x',
    'objects/pack/pack-x.pack',
    'logs/HEAD',
    'logs/refs/heads/reveille/p/a',
    'reftable/tables.list',
    'FETCH_HEAD',
    'reveille-lock',
    'reveille-index',
  ].map((name) => inGit('BND6.13', name, 'home/.ssh/id')),
  inGit('BND6.13', 'objects', 'victim/.git/objects'),
  inGit('BND6.13', 'refs/heads', 'victim/.git/refs/heads'),
  {
    rule: 'BND6.14',
    name: 'the home of the worktrees is a link',
    words: HOME,
    prepare: async (machine) => symlink(machine.at('home'), `${machine.repo}.worktrees`),
  },
  {
    rule: 'BND6.14',
    name: 'the home of the worktrees is a link to nothing',
    words: HOME,
    prepare: async (machine) => symlink(machine.at('nothing'), `${machine.repo}.worktrees`),
  },
  ...['.reveille', '.reveille/.stage', '.reveille/.trash', '.reveille/.lock.db', '.reveille/.work'].map(
    (name): RepositoryAttack => ({
      rule: 'BND6.14',
      name: `in the home of the worktrees ${name} is a link`,
      words: HOME,
      prepare: async (machine) =>
        machine.swapForLink(join(`${machine.repo}.worktrees`, name), machine.at('home/.ssh')),
    }),
  ),
  {
    rule: 'BND6.14',
    name: 'everybody can write to the home of the worktrees',
    words: /others can write to it/,
    prepare: async ({ repo }) => {
      await mkdir(`${repo}.worktrees`);
      await chmod(`${repo}.worktrees`, 0o777);
    },
  },
  {
    rule: 'BND6.14',
    name: 'the home of the worktrees is a file',
    words: /Making the worktree|Worktrees cannot be made in/,
    prepare: async ({ repo }) => writeFile(`${repo}.worktrees`, ''),
  },
  {
    rule: 'BND6.14',
    name: 'the home of the worktrees belongs to another user',
    words: /it belongs to user 12345/,
    rootOnly: true,
    prepare: async ({ repo }) => {
      await mkdir(`${repo}.worktrees`);
      await chown(`${repo}.worktrees`, 12_345, 12_345);
    },
  },
];

/** What came of an attack: the error that refused it, and what is in folders where nothing may change. */
export interface AttackResult {
  readonly name: string;
  readonly refusal: string | null;
  readonly harm: readonly string[];
}

export async function attack({ name, prepare }: RepositoryAttack): Promise<AttackResult> {
  const machine = await Machine.make();
  await using _ = machine.scratch;
  const folder = (await prepare(machine)) ?? machine.repo;
  const before = await snapshotOf(machine);
  const refusal = await tryToWork(machine, folder);
  const after = await snapshotOf(machine);
  const harm = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  return { name, refusal, harm };
}

/** As a task begins: what was left half done is ended, then a worktree is made. */
async function tryToWork(machine: Machine, folder: string): Promise<string | null> {
  try {
    await findRepository(folder, machine.search);
    await make(folder, { search: machine.search });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Every file of the person outside the repository that is attacked, with its content. */
async function snapshotOf(machine: Machine): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of ['home', 'victim']) {
    const entries = await readdir(machine.at(name), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile()))
      found.set(
        join(entry.parentPath, entry.name),
        await readFile(join(entry.parentPath, entry.name), 'latin1'),
      );
  }
  return found;
}
