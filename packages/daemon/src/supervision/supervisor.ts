import { spawn, type ChildProcess } from 'node:child_process';

/**
 * The process that starts a daemon again. It waits for the end of the daemon that started it, by the end of its input, and
 * then becomes the next daemon, which starts a supervisor of its own. So it is nobody's parent, kills nobody, and two
 * of them do not compete: of all daemons that are started, one gets the guard.
 *
 * Words of the daemon, one a line: `watch` (from now on its end is unexpected), `settled` (it has lived for a while, so
 * the next end counts as the first), `stop` (its end is wanted), anything else (why it is about to end).
 *
 * Arguments: how often a daemon was started again without settling; the folder to start in; the command.
 * The first start is made at once and without another process, so that it works also where no process can be made.
 */
const SUPERVISOR = `
restarts=$1 home=$2; shift 2
watching= why='it was killed or crashed, without a word'
while IFS= read -r word; do
  case $word in
    watch) watching=1 ;;
    settled) restarts=0 ;;
    stop) exit 0 ;;
    *) why=$word ;;
  esac
done
[ "$watching" ] || exit 0
restarts=$((restarts + 1))
case $restarts in
  1) ;; 2) sleep 1 ;; 3) sleep 2 ;; 4) sleep 4 ;; 5) sleep 8 ;; 6) sleep 16 ;; 7) sleep 32 ;; *) sleep 60 ;;
esac
cd "$home" || exit 0
exec "$@" --restarts "$restarts" --ended "$why" </dev/null
`;

const LONGEST_WORD = 500;
/** How long a daemon has to live until its end counts as the first one. */
const SETTLED_MS = 30_000;
/** How long after the end of a supervisor the next one is started. */
const AGAIN_MS = 1_000;

export interface SupervisorOptions {
  /** The folder of the place. */
  readonly home: string;
  /** What starts the next daemon. */
  readonly command: readonly string[];
  /** How often a daemon was started again without settling. */
  readonly restarts: number;
  /** Another supervisor has begun. */
  readonly began: (pid: number) => void;
  /** It ended without being told to, or could not be started; another one is started. */
  readonly lost: (why: string) => void;
}

/** The supervisor of this process. Killed, it is replaced; the daemon goes on. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #restarts: number;
  #child: ChildProcess | null = null;
  #ended = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#restarts = options.restarts;
    setTimeout(() => this.#settle(), SETTLED_MS).unref();
    this.#begin();
  }

  /** The end of this process, which comes soon, is wanted. */
  end(): void {
    this.#ended = true;
    this.#say('stop');
  }

  /** This process is about to end, and another one is to be started. */
  dying(why: string): void {
    this.#ended = true;
    this.#say(why.replaceAll(/\s+/g, ' ').slice(0, LONGEST_WORD));
  }

  /** In a session of its own and with no descriptor of ours but its input: what ends us does not end it. */
  #begin(): void {
    const { home, command, began } = this.#options;
    const again = (why: string): void => this.#again(why);
    try {
      const args = ['-c', SUPERVISOR, 'reveille-supervisor', String(this.#restarts), home, ...command];
      const child = spawn('/bin/sh', args, {
        cwd: home,
        detached: true,
        stdio: ['pipe', 'inherit', 'inherit'],
      });
      child.once('error', ({ message }) => again(message));
      if (child.pid === undefined) return;
      child.once('exit', (code, signal) => again(signal ?? `exit code ${code}`));
      // Killed, it reads no more.
      child.stdin?.on('error', () => undefined);
      child.unref();
      this.#child = child;
      began(child.pid);
      this.#say('watch');
    } catch (error) {
      again(String(error));
    }
  }

  #again(why: string): void {
    this.#child = null;
    if (this.#ended) return;
    this.#options.lost(why);
    setTimeout(() => !this.#ended && this.#begin(), AGAIN_MS).unref();
  }

  #settle(): void {
    this.#restarts = 0;
    this.#say('settled');
  }

  #say(word: string): void {
    this.#child?.stdin?.write(`${word}\n`);
  }
}
