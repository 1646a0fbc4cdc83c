import { ReveilleError } from '@reveille/protocol';
import { isHomeUsed, markHome, markIn, newMark } from '../creation/home.ts';
import { filesNamedBy } from '../creation/ignored.ts';
import type { FoundRepository } from '../repository.ts';
import { INCLUDE_FILE, readInclude } from '../repository/include.ts';
import type { Trust, TrustItem } from './trust.ts';

/** Something a repository says about itself that counts only once the person has agreed, with what it means now. */
export interface BroughtItem {
  readonly item: TrustItem;
  readonly path: string;
  /** What the person should know before they agree, a line each. */
  readonly means: readonly string[];
}

type IsTrusted = (item: TrustItem) => boolean;

/** The folders whose objects agents could read besides those of the repository itself. */
const objectsItem = ({ objectStores }: FoundRepository): TrustItem | null =>
  objectStores.length < 2
    ? null
    : { kind: 'objects', name: '.git/objects/info/alternates', content: objectStores.slice(1).join('\n') };

/** The programs that git would run in the person's checkout, outside every sandbox, because `.git/config` says so. */
const commandsItem = ({ traits }: FoundRepository): TrustItem | null =>
  traits.commands.length === 0
    ? null
    : { kind: 'command', name: '.git/config', content: traits.commands.join('\n') };

export const includeItem = (content: string): TrustItem => ({ kind: 'files', name: INCLUDE_FILE, content });

const homeItem = ({ home }: FoundRepository, mark: string): TrustItem => ({
  kind: 'home',
  name: home,
  content: mark,
});

/** Everything that a repository brings along in these ways, for the person to look at. */
export async function broughtBy(repository: FoundRepository): Promise<BroughtItem[]> {
  const found: BroughtItem[] = [];
  const objects = objectsItem(repository);
  if (objects)
    found.push({
      item: objects,
      path: objects.name,
      means: repository.objectStores
        .slice(1)
        .map((store) => `it borrows objects from ${store}: agents could read all history there`),
    });
  const commands = commandsItem(repository);
  if (commands)
    found.push({
      item: commands,
      path: commands.name,
      means: repository.traits.commands.map((command) => `git would run, outside the sandbox: ${command}`),
    });
  const include = await readInclude(repository.root);
  if (include !== null) {
    const files = await filesNamedBy(repository, include);
    found.push({ item: includeItem(include), path: INCLUDE_FILE, means: copyWords(files) });
  }
  return found;
}

const SHOWN = 20;

function copyWords(files: readonly string[]): string[] {
  if (files.length === 0) return ['no file would be copied into worktrees now'];
  const more = files.length > SHOWN ? [`… and ${files.length - SHOWN} more`] : [];
  const count = files.length === 1 ? 'this file' : `these ${files.length} files`;
  return [
    `${count} would be copied into worktrees now, where agents can read them:`,
    ...files.slice(0, SHOWN).map((file) => `  ${file}`),
    ...more,
  ];
}

/** Whether the home of worktrees beside a repository was made by Reveille, by somebody else, or not yet. */
export async function homeMaker(
  repository: FoundRepository,
  isTrusted: IsTrusted,
): Promise<'ours' | 'strange' | 'none'> {
  const mark = await markIn(repository);
  if (mark !== null && isTrusted(homeItem(repository, mark))) return 'ours';
  return (await isHomeUsed(repository)) ? 'strange' : 'none';
}

/** Makes the home ours. Trust comes first: a mark that nobody knows would be taken for a stranger's. */
export async function adoptHome(repository: FoundRepository, trust: Trust): Promise<void> {
  const mark = (await markIn(repository)) ?? newMark();
  await trust.grant(repository.gitDir, [homeItem(repository, mark)]);
  await markHome(repository, mark);
}

/**
 * Lets tasks work on a repository, or throws with what the person has to look at first. What is only left out while it is
 * not trusted (`.worktreeinclude`) does not keep them from it.
 */
export async function admitRepository(
  repository: FoundRepository,
  trust: Trust,
  { ownHome }: { readonly ownHome: boolean },
): Promise<void> {
  const isTrusted = await trust.grantedIn(repository.gitDir);
  const { root, objectStores, traits } = repository;
  const objects = objectsItem(repository);
  if (objects && !isTrusted(objects))
    throw untrusted(
      root,
      `it borrows objects from ${objectStores.slice(1).join(', ')}, which agents could read`,
    );
  const commands = commandsItem(repository);
  if (commands && !isTrusted(commands))
    throw untrusted(root, `its .git/config makes git run programs (${traits.commands.join('; ')})`);
  if (!ownHome) return;
  const maker = await homeMaker(repository, isTrusted);
  if (maker === 'strange')
    throw untrusted(
      root,
      `the folder ${repository.home} was there before Reveille made it and may have come with the repository`,
    );
  if (maker === 'none') await adoptHome(repository, trust);
}

const untrusted = (root: string, why: string): ReveilleError =>
  new ReveilleError(
    'not_allowed',
    `Tasks cannot work on ${root} until you have looked at this: ${why.slice(0, 2_000)}. If that is as it should be, trust it: reveille init --repo ${root}`,
    { data: { repository: root } },
  );
