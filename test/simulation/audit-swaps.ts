import type { StartSpec } from '@reveille/core';
import { formatAgentType, type Run, type Task } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

/** A sweep, if the wake was lost, and what it takes to stop one that ignores it. */
const SOON_MS = 9_000;

type Who = Pick<Task, 'agent' | 'model'>;
const whoIs = ({ agent, model }: Who): string => `${formatAgentType(agent)} ${model ?? ''}`;

/** What an agent's own session is gone on with by: it says whose it is. */
export const historyOf = ({ session, task }: Pick<StartSpec, 'session' | 'task'>): string =>
  `history of ${session} by ${whoIs(task)}`;

/** Another agent or model goes on with a run, and a person may work in its place for a while. */
export class SwapAudit {
  readonly #auditor: Auditor;
  /** Per run and epoch: who was to be started, and whether that one is new to the run. */
  readonly #wanted = new Map<string, { readonly who: string; readonly isNew: boolean }>();

  /** When another was asked for. */
  readonly #since = new Map<string, number>();

  constructor(auditor: Auditor) {
    this.#auditor = auditor;
  }

  look(change: Durable): void {
    for (const delta of change.deltas) {
      if (!is(delta, 'run')) continue;
      const { before, after } = delta;
      if (before?.epoch !== after.epoch) this.#held(before, after);
      else if (after.swap) this.#pending(before, after);
      if (before?.takenOver || after.takenOver) this.#takenOver(change, delta);
    }
  }

  /** Whoever is at work has been told to stop, and does nothing more that counts once there was time to. */
  #pending(before: Run | undefined, after: Run): void {
    const now = this.#auditor.mono();
    if (!before?.swap) this.#since.set(after.id, now);
    const waited = now - (this.#since.get(after.id) ?? now);
    // What nobody holds, as one that is paused, nobody goes on with: whoever ends that is not its agent.
    const acts =
      before?.host !== null &&
      (after.turn?.number !== before?.turn?.number || (after.state === 'ended' && before?.state !== 'ended'));
    this.#auditor.check(
      !acts || waited <= SOON_MS || !this.#auditor.calm(),
      'swaps',
      `${after.id} was gone on with for ${waited} ms by an agent that was to be swapped`,
    );
  }

  #held(before: Run | undefined, after: Run): void {
    const task = this.#auditor.ledger.rows.task.get(after.task);
    if (!task) return;
    const isNew = before?.swap !== undefined;
    this.#wanted.set(`${after.id}/${after.epoch}`, { who: whoIs(task), isNew });
    this.#auditor.check(
      !isNew || (after.swap === undefined && after.resume === null && !after.assigned),
      'swaps',
      `${whoIs(task)} is to go on with ${after.id} and has something of the agent before it`,
    );
  }

  /** An agent is started. True: it takes the run over from another. */
  started(spec: StartSpec): boolean {
    const { run, epoch, resume, task } = spec;
    const wanted = this.#wanted.get(`${run}/${epoch}`);
    this.#auditor.check(
      wanted === undefined || wanted.who === whoIs(task),
      'swaps',
      `${whoIs(task)} was started for ${run}, epoch ${epoch}; that was to be ${wanted?.who}`,
    );
    this.#auditor.check(
      resume === null || resume === historyOf(spec),
      'swaps',
      `${whoIs(task)} was started for ${run} with the ${resume}`,
    );
    return wanted?.isNew ?? false;
  }

  /** While a person works there nobody else does, and whoever goes on is told so. */
  #takenOver({ deltas }: Durable, { before, after }: Delta<'run'>): void {
    this.#auditor.check(
      !after.takenOver || after.state === 'ended' || (after.paused && after.turn === null),
      'paused',
      `${after.id} is taken over by a person and ${after.paused ? 'has a turn open' : 'is not paused'}`,
    );
    if (!before?.takenOver || after.takenOver || after.state === 'ended') return;
    const told = deltas.some(
      (delta) =>
        is(delta, 'message') &&
        !delta.before &&
        delta.after.to === after.session &&
        delta.after.kind === 'resume' &&
        delta.after.text.includes('Meanwhile'),
    );
    this.#auditor.check(told, 'swaps', `${after.id} goes on, and is not told that a person worked there`);
  }
}
