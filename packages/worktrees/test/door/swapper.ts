import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * What an attacker changes, over and over, as fast as it can, in a process of its own:
 *   exchange  the entries `a` and `b` change places
 *   relink    `a` is a link with the text `b`, then with the text `c`
 *   leaf      `a` is a plain file, then a link with the text `b`
 */
export interface Swap {
  readonly kind: 'exchange' | 'relink' | 'leaf';
  readonly a: string;
  readonly b: string;
  readonly c?: string;
}

export interface Swapper extends AsyncDisposable {
  /** Ends the attacker, and says how often it swapped. */
  stop(): Promise<number>;
}

/**
 * A swap takes 2 µs and a call of the door about 100. With a rest after each swap most calls meet one, with half the
 * processor: a door that looks first and opens then loses one write in three, without the rest one in four.
 *
 * Both entries at once, never one of them missing; Node has no call for that.
 */
const EXCHANGE = `
import ctypes, select, sys, time
exchange = ctypes.CDLL(None).renameat2
a, b = sys.argv[1].encode(), sys.argv[2].encode()
if exchange(-100, a, -100, b, 2) != 0: sys.exit(1)
print('ready', flush=True)
count = 1
while count % 256 or not select.select([sys.stdin], [], [], 0)[0]:
    exchange(-100, a, -100, b, 2)
    time.sleep(0.00002)
    count += 1
print(count, flush=True)
`;

/** Resolves when the attacker is at work. It ends when we do, whatever ends us. */
export async function startSwapper({ kind, a, b, c = '' }: Swap): Promise<Swapper> {
  const atOnce = kind === 'exchange' ? await start('python3', ['-c', EXCHANGE, a, b]) : undefined;
  if (atOnce) return atOnce;
  const script = fileURLToPath(new URL('swapper-process.ts', import.meta.url));
  const swapper = await start(process.execPath, [script, kind, a, b, c]);
  if (!swapper) throw new Error('The attacker does not start.');
  return swapper;
}

/** Undefined when the program is missing, or cannot do it here. */
async function start(program: string, args: string[]): Promise<Swapper | undefined> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  // It may be gone when it is told to stop.
  child.stdin.on('error', () => undefined);
  const closed = once(child, 'close').catch(() => undefined);
  const ready = once(child.stdout, 'data').then(
    () => true,
    () => false,
  );
  if (!(await Promise.race([ready, closed.then(() => false)]))) return undefined;
  const stop = async (): Promise<number> => {
    child.stdin.end();
    await closed;
    return Number(said.trim().split('\n').at(-1));
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
  };
  return { stop, [Symbol.asyncDispose]: kill };
}
