import type { Caller, Orchestrator } from '@reveille/protocol';
import type { Host } from '../host.ts';

export const BACKEND_OPERATIONS = ['backends'] as const;

export function backendOperations(
  { context }: Host,
  _caller: Caller,
): Pick<Orchestrator, (typeof BACKEND_OPERATIONS)[number]> {
  const { executors, settings } = context;
  return {
    async backends() {
      const usual = settings.defaultBackend;
      const names = executors.backends().toSorted((a, b) => Number(b === usual) - Number(a === usual));
      const why = executors.why?.();
      return names.map((name) => {
        const isDefault = name === usual;
        return isDefault && why !== undefined ? { name, isDefault, why } : { name, isDefault };
      });
    },
  };
}
