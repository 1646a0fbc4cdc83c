import type { Fact } from '@reveille/protocol';

/**
 * The state of everything, from the events alone. Written from what the events say, not from the engine: if the
 * two disagree, either a transition forgot its event or an event told of one that was not made.
 */
export class Fold {
  readonly plans = new Map<string, string>();
  readonly tasks = new Map<
    string,
    { state: string; on: string | null; cancelling: boolean; owner: string }
  >();
  readonly runs = new Map<
    string,
    { ended: string | null; epoch: number; turn: number | null; task: string; paused: boolean }
  >();
  readonly messages = new Map<string, { state: string; to: string }>();
  readonly requests = new Map<string, { state: string; with: string | null }>();
  readonly sessions = new Map<string, string>();

  /** An answer is what is wrong with the event. */
  add(fact: Fact): string | null {
    const [noun, verb] = fact.type.split('.', 2) as [string, string];
    const data = fact.data ?? {};
    switch (noun) {
      case 'plan':
        this.plans.set(need(fact.plan), String(data['state']));
        return null;
      case 'task':
        return this.#task(verb, fact, data);
      case 'run':
        return this.#run(verb, fact, data);
      case 'turn':
        return this.#turn(verb, fact, data);
      case 'message':
        return this.#message(verb, fact);
      case 'request':
        return this.#request(verb, fact, data);
      case 'session':
        this.sessions.set(need(fact.session), verb === 'opened' ? 'open' : verb);
        return null;
      default:
        return null;
    }
  }

  #task(verb: string, fact: Fact, data: Record<string, unknown>): string | null {
    const id = need(fact.task);
    const known = this.tasks.get(id);
    if (verb === 'created') {
      if (known) return `task ${id} is created twice`;
      this.tasks.set(id, {
        state: String(data['state']),
        on: null,
        cancelling: false,
        owner: String(data['owner']),
      });
      this.sessions.set(need(fact.session), 'open');
      return null;
    }
    if (!known) return `${fact.type} about the unknown task ${id}`;
    // Who works on it is no state of it.
    if (verb === 'swapped') return null;
    if (verb === 'handed_up') known.owner = String(data['owner']);
    else if (verb === 'cancelling') known.cancelling = true;
    else {
      known.state = String(data['state']);
      known.on = typeof data['on'] === 'string' ? data['on'] : null;
      if (['completed', 'failed', 'cancelled'].includes(known.state)) known.cancelling = false;
    }
    return null;
  }

  #run(verb: string, fact: Fact, data: Record<string, unknown>): string | null {
    const id = need(fact.run);
    const known = this.runs.get(id);
    if (verb === 'opened') {
      if (known) return `run ${id} is opened twice`;
      this.runs.set(id, { ended: null, epoch: 0, turn: null, task: need(fact.task), paused: false });
      return null;
    }
    if (!known) return `${fact.type} about the unknown run ${id}`;
    if (known.ended) return `${fact.type} about the ended run ${id}`;
    if (verb === 'held') {
      if (Number(data['epoch']) !== known.epoch + 1)
        return `run ${id} went from epoch ${known.epoch} to ${String(data['epoch'])}`;
      known.epoch = Number(data['epoch']);
    }
    if (verb === 'ended') known.ended = String(data['status']);
    if (verb === 'paused' || verb === 'resumed') known.paused = verb === 'paused';
    return null;
  }

  #turn(verb: string, fact: Fact, data: Record<string, unknown>): string | null {
    const run = this.runs.get(need(fact.run));
    const number = Number(data['turn']);
    if (!run) return `${fact.type} about an unknown run`;
    if (verb === 'opened' && run.turn !== null) return `turn ${number} opened while turn ${run.turn} is open`;
    if (verb === 'ended' && run.turn !== number)
      return `turn ${number} ended while ${run.turn ?? 'none'} is open`;
    run.turn = verb === 'opened' ? number : null;
    return null;
  }

  #message(verb: string, fact: Fact): string | null {
    for (const id of fact.messages ?? []) {
      const known = this.messages.get(id);
      if (!known) this.messages.set(id, { state: verb, to: need(fact.session) });
      else known.state = verb === 'given_back' ? 'queued' : verb;
    }
    return null;
  }

  #request(verb: string, fact: Fact, data: Record<string, unknown>): string | null {
    const id = need(fact.request);
    const holder = typeof data['with'] === 'string' ? data['with'] : null;
    const known = this.requests.get(id);
    if (verb === 'opened') this.requests.set(id, { state: 'open', with: holder });
    else if (!known) return `${fact.type} about the unknown request ${id}`;
    else if (verb === 'moved') known.with = holder;
    else known.state = verb;
    return null;
  }
}

function need(id: string | undefined): string {
  if (id === undefined) throw new Error('An event lacks the id of what it is about.');
  return id;
}
