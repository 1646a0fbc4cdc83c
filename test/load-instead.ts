import { registerHooks } from 'node:module';

/** From now on Node loads `source` where a module of ours is asked for. For test processes: nothing of the product knows of it. */
export function loadInstead(url: string, source: string): void {
  registerHooks({
    load(wanted, context, nextLoad) {
      if (wanted !== url) return nextLoad(wanted, context);
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
