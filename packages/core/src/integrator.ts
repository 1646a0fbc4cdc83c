import type { AgentType, Task } from '@reveille/protocol';

/**
 * The integration of a plan is its last task (PLN6): it depends on everything, works in a checkout of its own, and is
 * carried out by an agent that needs no model. So it waits, starts, is retried, cancelled, resumed after a crash and
 * shown like any other task, and a plan whose branches do not go together has not completed.
 */
export const INTEGRATOR: AgentType = { backend: 'reveille', name: 'integrator' };

export const isIntegrator = ({ agent }: Task): boolean => agent.backend === INTEGRATOR.backend;
