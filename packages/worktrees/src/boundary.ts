import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Executor } from '@reveille/core';
import type { Caller, DirtyPolicy, Orchestrator, Task } from '@reveille/protocol';
import { ReveilleError } from '@reveille/protocol';
import type { Checkout } from './checkout.ts';
import type { KnownCheckout } from './creation/record.ts';
import { WORKTREE_DEFAULTS, type WorktreeSettings } from './creation/settings.ts';
import type { SetupRunner } from './creation/setup.ts';
import { openDoor, type FileDoor } from './door/door.ts';
import { benchIn } from './integrator/bench.ts';
import { integratorExecutor } from './integrator/executor.ts';
import type { Verdict } from './integrator/integration.ts';
import type { Confinement } from './sandbox/confinement.ts';
import type { FoundRepository } from './repository.ts';
import { openSandbox, type Sandbox } from './sandbox/sandbox.ts';
import type { Measure } from './sandbox/totals.ts';
import { Worktrees, type WorktreeRules } from './worktrees.ts';

/** What can be set about worktrees and how agents are held in them. */
export interface BoundarySettings {
  readonly worktrees: WorktreeSettings;
  readonly dirty: DirtyPolicy | null;
  readonly sandbox: 'require' | 'warn' | 'off';
  /** What every confined process may do besides working in its tree. */
  readonly confinement: Omit<Confinement, 'checkout' | 'write' | 'env'>;
  /**
   * Whether a change of the person's checkout during a turn stops the run. Where a sandbox is enforced no agent can make
   * one: there it is taken for the person's own, unless this says `always`.
   */
  readonly audit: 'unconfined' | 'always' | 'off';
  /** A branch that does not merge: an agent is to resolve it, or the owner is asked. */
  readonly onConflict: 'resolve' | 'ask';
}

export const BOUNDARY_DEFAULTS: BoundarySettings = {
  worktrees: WORKTREE_DEFAULTS,
  dirty: null,
  sandbox: 'warn',
  confinement: { network: { kind: 'on' } },
  audit: 'unconfined',
  onConflict: 'ask',
};

export interface BoundaryOptions {
  readonly settings: BoundarySettings;
  /** What holds for the repository at this root, if it differs. */
  readonly settingsFor?: (root: string) => BoundarySettings;
  /** Called before a checkout of the repository is opened or made. */
  readonly enter?: (repository: FoundRepository, sandbox: Sandbox) => Promise<void>;
  /** Throws if the person has not trusted what a repository brings along. Called before anything of it is used. */
  readonly admit?: (repository: FoundRepository) => Promise<void>;
  /** Reveille's own folders: nothing of them is mounted, and no repository lies in them. */
  readonly own?: readonly string[];
  /** Where the sandbox keeps its sockets: a short path of our own. */
  readonly runtimeFolder?: string;
  /** How much the processes of a run take. */
  readonly measure?: Measure;
  /** Where control groups are on record; absent: a later life finds none of them. */
  readonly groupRecords?: string;
  readonly log: (message: string, data: Record<string, unknown>) => void;
}

const VERDICT_CHARACTERS = 4_000;

/** The worktrees, and everything that happens inside them: one boundary for all. */
export class Boundary implements AsyncDisposable {
  readonly worktrees: Worktrees;
  readonly sandbox: Sandbox;
  /** What a person should know before agents start here; it was logged, too. */
  readonly warnings: readonly string[];
  readonly #settingsFor: (root: string) => BoundarySettings;

  private constructor(sandbox: Sandbox, options: BoundaryOptions & { readonly warnings: readonly string[] }) {
    this.warnings = options.warnings;
    const { settings, settingsFor, enter, admit, own = [], log } = options;
    this.sandbox = sandbox;
    this.#settingsFor = settingsFor ?? (() => settings);
    const rules = ({ worktrees, dirty, audit }: BoundarySettings): WorktreeRules => ({
      settings: worktrees,
      dirty,
      audits: audit === 'always' || (audit === 'unconfined' && sandbox.kind === 'none'),
    });
    const runSetup: SetupRunner = async (command, { checkout, env, signal, onOutput }) => {
      const ran = await sandbox.run(command, this.confine(checkout, { env }), {
        signal,
        onOutput: (chunk) => onOutput(chunk.toString('utf8')),
      });
      return { code: ran.code ?? 1 };
    };
    this.worktrees = new Worktrees({
      ...rules(settings),
      rulesFor: (root) => rules(this.#settingsFor(root)),
      own,
      admit,
      ...(enter ? { enter: (repository) => enter(repository, sandbox) } : {}),
      runSetup,
      log,
    });
  }

  static async open(options: BoundaryOptions): Promise<Boundary> {
    const { settings, log } = options;
    const warnings: string[] = [];
    const warn = (warning: string): void => {
      warnings.push(warning);
      log(warning, {});
    };
    const { runtimeFolder, measure, groupRecords, own = [] } = options;
    const sandbox = await openSandbox({
      setting: settings.sandbox,
      warn,
      own,
      ...(runtimeFolder ? { runtimeFolder } : {}),
      ...(measure ? { measure } : {}),
      ...(groupRecords ? { groupRecords } : {}),
    });
    return new Boundary(sandbox, { ...options, warnings });
  }

  /** What a process that works in a checkout may see and do. */
  confine(
    checkout: Checkout,
    options: { readonly env?: Readonly<Record<string, string>>; readonly write?: boolean } = {},
  ): Confinement {
    const { env, write = true } = options;
    // The same `/tmp` for the next command: what one leaves there the next may look for.
    const tmp = join(checkout.room, 'tmp');
    mkdirSync(tmp, { recursive: true });
    const { confinement } = this.#settingsFor(checkout.repository.root);
    return { ...confinement, checkout, write, tmp, ...(env ? { env } : {}) };
  }

  /** The way of file tools into a task's checkout. Whoever opens it closes it. */
  async door(task: Task, access: 'read' | 'write'): Promise<FileDoor> {
    return openDoor((await this.checkoutOf(task)).path, { access });
  }

  /** The agent that integrates plans. */
  integrator(connect: (caller: Caller) => Orchestrator): Executor {
    return integratorExecutor({
      connect,
      onConflict: async (task) => this.#settingsFor((await this.checkoutOf(task)).repository.root).onConflict,
      bench: async ({ task, report }, signal) => {
        const checkout = await this.checkoutOf(task);
        return benchIn(checkout, (command) =>
          this.#verify(checkout, command, { signal, said: (text) => report({ type: 'output', text }) }),
        );
      },
    });
  }

  async #verify(
    checkout: Checkout,
    command: string,
    { signal, said }: { readonly signal: AbortSignal; readonly said: (text: string) => void },
  ): Promise<Verdict> {
    let last = 0;
    const ran = await this.sandbox.run(command, this.confine(checkout), {
      signal,
      // A check that prints is alive; what it prints is shown in the end.
      onOutput: (chunk) => {
        if (Date.now() - last < 1_000) return;
        last = Date.now();
        said(chunk.toString('utf8').slice(-200));
      },
    });
    signal.throwIfAborted();
    return { passed: ran.code === 0, output: ran.output.slice(-VERDICT_CHARACTERS) };
  }

  /** The checkout of a task that has one. */
  async checkoutOf(task: Task): Promise<KnownCheckout> {
    const checkout = await this.worktrees.checkoutOf(task);
    if (checkout) return checkout;
    throw new ReveilleError('wrong_state', `Task ${task.id} has no worktree.`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.worktrees[Symbol.asyncDispose]();
    await this.sandbox.close();
  }
}
