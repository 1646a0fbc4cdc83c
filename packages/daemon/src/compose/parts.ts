import type {
  Agents,
  AskedApproval,
  Change,
  Clock,
  Exchange,
  Executors,
  Ports,
  RunTally,
  Store,
  Workspaces,
} from '@reveille/core';
import type { Caller, Orchestrator, RunId, Session, SessionId, Task, TaskId } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';
import type { Place } from '../place/folder.ts';
import type { EnginePermits } from './permits.ts';

/** What the parts are given of the rest. */
export interface World {
  readonly config: Config;
  readonly place: Place;
  readonly clock: Clock;
  readonly log: Log;
  /** The operations as this caller may use them, in process. */
  readonly connect: (caller: Caller) => Orchestrator;
  /** As `connect`, for one exchange over a connection that may break. */
  readonly exchange: (caller: Caller) => Exchange;
  /** Asks for leave in the name of a run's agent that stands still until it is answered. */
  readonly approve: (
    caller: Extract<Caller, { kind: 'worker' }>,
    asked: AskedApproval,
    signal: AbortSignal,
  ) => Promise<string>;
  /** Whether an agent may do what it wants to do: by policy, or by asking. */
  readonly permits: EnginePermits;
  /** What a run's agent comes back with over HTTP; it dies with the run's epoch. */
  readonly credentialOf: (run: { run: RunId; session: SessionId; epoch: number }) => string;
  /** Records as they are, for whoever has to know who calls. */
  readonly sessionOf: (id: SessionId) => Promise<Session | null>;
  readonly taskOf: (id: TaskId) => Promise<Task | null>;
  /** Where the daemon listens. */
  readonly url: string;
}

/** Something served beside the API, such as MCP. The caller is known, and still counts. */
export interface Mount {
  readonly path: string;
  /** `answered` resolves when the response is out, and never if it does not get out. */
  readonly handle: (request: Request, caller: Caller, answered: Promise<void>) => Promise<Response>;
  /** Ends what is open. */
  readonly close?: () => Promise<void>;
}

/** What other rooms bring. Each is made once, when the daemon starts. */
export interface Parts {
  /** Whoever wants to see what is committed stands in between. */
  readonly store?: (store: Store) => Store;
  /** Which agents there are. */
  readonly agents: (world: World) => Agents;
  /** What runs do is counted here; absent: nobody counts. */
  readonly tally?: Pick<RunTally, 'total'>;
  /** Looks at this host; absent: nothing is scarce. */
  readonly machine?: NonNullable<Ports['machine']>;
  /** How they are run, by backend. */
  readonly executors: (world: World) => Executors & { readonly usual?: string };
  /** Where they work. Without it, tasks have no files. */
  readonly workspaces?: (world: World) => Workspaces;
  /** What a person should know before they start work. */
  readonly warnings?: readonly string[];
  /** What is served beside the API: the place for `/mcp`. */
  readonly mounts?: (world: World) => readonly Mount[];
  /** Of every change, when it is on disk. */
  readonly heard?: (change: Change) => void;
  /** When the engine has gone on with everything: what is to be told then. */
  readonly started?: (world: World) => Promise<void>;
  /** After the engine has stopped. */
  readonly close?: () => Promise<void>;
}
