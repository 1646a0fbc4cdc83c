import type { Log } from '../log/log.ts';
import type { Place } from '../place/folder.ts';
import { PROGRAM } from '../program.ts';
import { settingArguments, type StartArguments } from '../start-arguments.ts';
import {
  processName,
  readSupervision,
  writeSupervision,
  type ProcessName,
  type SupervisedBy,
  type SupervisionRecord,
} from './record.ts';
import { Supervisor } from './supervisor.ts';

/** This daemon's supervision: who starts the next one if it dies, and what is on record about that. */
export class Supervision {
  readonly #place: Place;
  readonly #start: StartArguments;
  readonly #earlier: SupervisionRecord['restarts'];
  #supervisor: Supervisor | null = null;
  #log: Pick<Log, 'warn'> | null = null;

  /** The caller holds the guard. */
  constructor(place: Place, start: StartArguments) {
    this.#place = place;
    this.#start = start;
    this.#earlier = earlierEnds(place, start);
    // The one before had a supervisor, and this one may die before it has read its settings.
    if (start.restart) this.#supervise();
  }

  /** `restart` is the setting of that name. */
  begin(restart: boolean, log: Pick<Log, 'warn'>): void {
    this.#log = log;
    if (this.#start.supervisedBy) this.#record(this.#start.supervisedBy);
    else if (!restart) this.#unsupervised();
    else if (!this.#supervisor) this.#supervise();
  }

  /** The end of this process is wanted. */
  end(): void {
    this.#supervisor?.end();
  }

  dying(why: string): void {
    this.#supervisor?.dying(why);
  }

  /** A start that failed is tried again if it may succeed later, unless a person waits for it and is told. */
  failed(why: string, mayPass: boolean): void {
    if (mayPass && this.#start.restart) return this.dying(why);
    this.end();
    this.#record('nobody', null, { at: Date.now(), why });
  }

  #supervise(): void {
    this.#supervisor = new Supervisor({
      home: this.#place.home,
      command: [process.execPath, ...PROGRAM, ...settingArguments(this.#start)],
      restarts: this.#start.restart?.count ?? 0,
      began: (pid) => this.#record('reveille', processName(pid)),
      lost: (why) => this.#log?.warn('the supervisor of the daemon ended; another one is started', { why }),
    });
  }

  #unsupervised(): void {
    this.end();
    this.#supervisor = null;
    this.#record('nobody');
  }

  /** Only told, never relied on: where it cannot be written the daemon is as well supervised. */
  #record(
    by: SupervisedBy,
    supervisor: ProcessName | null = null,
    gaveUp: SupervisionRecord['gaveUp'] = null,
  ): void {
    try {
      const daemon = processName(process.pid);
      writeSupervision(this.#place.supervision, { by, supervisor, daemon, restarts: this.#earlier, gaveUp });
    } catch (error) {
      this.#log?.warn('it could not be written down who supervises the daemon', { error: String(error) });
    }
  }
}

/** A command that starts a daemon begins a new list. */
function earlierEnds({ supervision }: Place, { restart }: StartArguments): SupervisionRecord['restarts'] {
  if (!restart) return [];
  try {
    return [...(readSupervision(supervision)?.restarts ?? []), { at: Date.now(), why: restart.why }];
  } catch {
    // It is somebody else's file: the list begins anew.
    return [{ at: Date.now(), why: restart.why }];
  }
}
