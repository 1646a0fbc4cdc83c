import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Asking, ToolNavigation } from '@reveille/protocol';
import { openDoor, openSandbox, type FileDoor, type Sandbox } from '@reveille/worktrees';
import { Navigation, type Launch, type NavigationOptions, type Place } from '../src/index.ts';

export type Files = Readonly<Record<string, string>>;

/** Longer than any answer takes on a busy machine. */
export const PATIENT: Asking = { signal: new AbortController().signal, waitMs: 300_000 };
export const IMPATIENT: Asking = { signal: new AbortController().signal, waitMs: 0 };

/** Trees in a folder of their own, and navigation in them. */
export class Rig implements AsyncDisposable {
  readonly navigation: Navigation;
  readonly home: string;
  readonly #sandbox: Sandbox;
  readonly #doors: FileDoor[] = [];

  private constructor(sandbox: Sandbox, home: string, options: NavigationOptions) {
    this.#sandbox = sandbox;
    this.home = home;
    this.navigation = new Navigation(options);
  }

  static async open(options: NavigationOptions & { readonly sandbox?: 'warn' | 'off' } = {}): Promise<Rig> {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'navigation-')));
    const sandbox = await openSandbox({
      setting: options.sandbox ?? 'warn',
      warn: () => undefined,
      runtimeFolder: home,
    });
    return new Rig(sandbox, home, options);
  }

  get sandboxKind(): string {
    return this.#sandbox.kind;
  }

  /** A tree with these files. */
  tree(name: string, files: Files, options: { readonly readOnly?: boolean } = {}): Tree {
    const repository = join(this.home, 'repository');
    const root = join(`${repository}.worktrees`, name);
    mkdirSync(join(repository, '.git'), { recursive: true });
    mkdirSync(root, { recursive: true });
    const door = openDoor(root, { access: 'read' });
    this.#doors.push(door);
    const place: Place = {
      root,
      repository,
      readOnly: options.readOnly ?? false,
      files: door,
      launch: this.#launch(root, repository),
    };
    const tree = { root, place, ask: this.navigation.in(place), write: (more: Files) => write(root, more) };
    tree.write(files);
    return tree;
  }

  #launch(root: string, repository: string): Launch {
    return async (command, { reads, env }) => {
      const wrapped = await this.#sandbox.wrap(command, {
        checkout: {
          repository: {
            root: repository,
            gitDir: join(repository, '.git'),
            home: `${repository}.worktrees`,
            objectStores: [],
          },
          kind: 'clone',
          path: root,
          agentGitDir: join(root, '.git'),
        },
        write: false,
        network: { kind: this.#sandbox.kind === 'none' ? 'on' : 'off' },
        env,
        reads,
      });
      return { ...wrapped, seesUs: this.#sandbox.kind === 'none' };
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.navigation[Symbol.asyncDispose]();
    for (const door of this.#doors) door.close();
    await this.#sandbox.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

export interface Tree {
  readonly root: string;
  readonly place: Place;
  readonly ask: ToolNavigation;
  readonly write: (files: Files) => void;
}

function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** `path:line` of each, as people write them. */
export const at = (places: readonly { readonly path: string; readonly line: number }[]): string[] =>
  places.map(({ path, line }) => `${path}:${line}`);
