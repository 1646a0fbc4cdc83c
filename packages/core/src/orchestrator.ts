import type { Caller, Orchestrator } from '@reveille/protocol';
import { correspondence } from './operations/correspondence.ts';
import { delegation } from './operations/delegation.ts';
import { planOperations } from './operations/plans.ts';
import { reporting } from './operations/report.ts';
import { sessionOperations } from './operations/sessions.ts';
import { taskOperations } from './operations/tasks.ts';
import type { Host } from './host.ts';

/** The engine's own implementation of the Orchestrator: input is parsed, the caller checked, one decision made. */
export function orchestratorFor(host: Host, caller: Caller): Orchestrator {
  return {
    ...planOperations(host, caller),
    ...taskOperations(host, caller),
    ...delegation(host, caller),
    ...reporting(host, caller),
    ...correspondence(host, caller),
    ...sessionOperations(host, caller),
  };
}
