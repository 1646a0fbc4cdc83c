import type { AgentProcess } from '../acp/process.ts';

/** What the SDK would start. */
export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string | undefined>;
}

/** A process of ours, as the SDK holds one. */
export function asSpawned(held: AgentProcess): unknown {
  let code: number | null = null;
  let killed = false;
  const listeners = (event: string, listener: (...given: unknown[]) => void): void => {
    void held.exited.then((exit) => {
      code = exit.code;
      if (event === 'error' && exit.error) listener(exit.error);
      if (event === 'exit' && !exit.error) listener(exit.code, exit.signal);
    });
  };
  return {
    stdin: held.input,
    stdout: held.output,
    get killed() {
      return killed;
    },
    get exitCode() {
      return code;
    },
    kill: () => {
      killed = true;
      void held.end();
      return true;
    },
    on: listeners,
    once: listeners,
    off: () => undefined,
  };
}
