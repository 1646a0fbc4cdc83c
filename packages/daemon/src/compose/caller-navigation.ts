import { createHash } from 'node:crypto';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Launch, Navigation, NavigationOptions, Place } from '@reveille/navigation';
import { isReveilleError, type Task, type ToolFiles, type ToolNavigation } from '@reveille/protocol';
import type { Boundary, Confinement } from '@reveille/worktrees';

type KnownCheckout = Awaited<ReturnType<Boundary['checkoutOf']>>;

/** Loaded with the first question: a daemon starts faster without it. */
export class NavigationOnDemand implements AsyncDisposable {
  readonly #options: NavigationOptions;
  #made: Promise<Navigation> | null = null;

  constructor(options: NavigationOptions) {
    this.#options = options;
  }

  get(): Promise<Navigation> {
    return (this.#made ??= import('@reveille/navigation').then((room) => new room.Navigation(this.#options)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#made)?.[Symbol.asyncDispose]();
  }
}

/** Navigation in the worktree of a task. The worktree is looked up when something is asked: not every call asks. */
export function navigationIn(
  rooms: {
    readonly navigation: NavigationOnDemand;
    readonly boundary: Boundary;
    readonly serverCopies: string;
  },
  asked: { readonly task: Task; readonly readOnly: boolean; readonly files: ToolFiles },
): ToolNavigation {
  const { navigation, boundary, serverCopies } = rooms;
  const open = async (): Promise<ToolNavigation> => {
    const checkout = await boundary.checkoutOf(asked.task);
    const place: Place = {
      root: checkout.path,
      repository: checkout.repository.root,
      readOnly: asked.readOnly,
      files: asked.files,
      launch: launchIn(boundary, checkout, serverCopies),
    };
    return (await navigation.get()).in(place);
  };
  return {
    definitions: async (ask, asking) => await (await open()).definitions(ask, asking),
    usages: async (ask, asking) => await (await open()).usages(ask, asking),
    module: async (ask, asking) => await (await open()).module(ask, asking),
    outline: async (ask, asking) => await (await open()).outline(ask, asking),
    typeOf: async (ask, asking) => await (await open()).typeOf(ask, asking),
  };
}

/** A language server reads the tree, writes nothing, and has no network: less than the agent it answers. */
function launchIn(boundary: Boundary, checkout: KnownCheckout, serverCopies: string): Launch {
  const { sandbox } = boundary;
  return async (command, { reads, env }) => {
    const {
      tmp: _,
      loopback: __,
      writes: ___,
      ...confined
    } = boundary.confine(checkout, { env, write: false });
    const shown = await uncovered({ command, reads }, checkout, serverCopies);
    const confinement: Confinement = {
      ...confined,
      reads: [...(confined.reads ?? []), ...shown.reads],
      // Language servers are installed in a folder of ours.
      lent: shown.reads,
      countsWith: `server:${checkout.path}`,
    };
    const wrap = async (network: Confinement['network']) =>
      await sandbox.wrap(shown.command, { ...confinement, network });
    const wrapped = await wrap({ kind: 'off' }).catch(async (error: unknown) => {
      // Where a network cannot be taken away, agents have it too, or nothing is started at all.
      if (isReveilleError(error, 'sandbox_missing') && confined.network.kind === 'on')
        return await wrap(confined.network);
      throw error;
    });
    return { ...wrapped, seesUs: sandbox.kind !== 'bubblewrap' };
  };
}

interface Shown {
  readonly command: readonly string[];
  readonly reads: readonly string[];
}

/**
 * The repository is hidden from whatever runs in a worktree. A server that is installed in it (as ours is, when Reveille works
 * on itself) is copied to our own folder, and started from there.
 */
async function uncovered(
  { command, reads }: Shown,
  { repository }: KnownCheckout,
  copies: string,
): Promise<Shown> {
  const isHidden = (path: string): boolean =>
    [repository.root, repository.home].some(
      (folder) => path === folder || path.startsWith(`${folder}${sep}`),
    );
  const moved = new Map<string, string>();
  for (const folder of reads.filter(isHidden)) moved.set(folder, await copied(folder, copies));
  const at = (path: string): string => {
    const [from, to] = [...moved].find(
      ([folder]) => path === folder || path.startsWith(`${folder}${sep}`),
    ) ?? ['', ''];
    return from === '' ? path : `${to}${path.slice(from.length)}`;
  };
  return { command: command.map(at), reads: reads.map(at) };
}

async function copied(folder: string, copies: string): Promise<string> {
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const target = join(copies, name);
  await mkdir(copies, { recursive: true, mode: 0o700 });
  const making = `${target}.${process.pid}.${performance.now()}`;
  await cp(folder, making, { recursive: true, preserveTimestamps: true, dereference: true });
  await rm(target, { recursive: true, force: true });
  await rename(making, target);
  return target;
}
