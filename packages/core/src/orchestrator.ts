import type { Caller, Orchestrator } from '@reveille/protocol';
import { delegation } from './operations/delegation.ts';
import { planOperations } from './operations/plans.ts';
import { sessionOperations } from './operations/sessions.ts';
import { taskOperations } from './operations/tasks.ts';
import type { Engine } from './engine.ts';

/** The engine's own implementation of the Orchestrator: input is parsed, the caller checked, one decision made. */
export function orchestratorFor(engine: Engine, caller: Caller): Orchestrator {
  return {
    ...planOperations(engine, caller),
    ...taskOperations(engine, caller),
    ...delegation(engine, caller),
    ...sessionOperations(engine, caller),
  };
}
