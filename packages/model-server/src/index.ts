export type { Heard } from './conversation.ts';
export { FAILURES, withModelScript, type ModelScript, type ModelStep } from './script.ts';
export { startModelServer, type ModelRequest, type ModelServer, type ModelServerOptions } from './server.ts';
export { REAL_AGENTS, isRealAgent, recipeFor, type RealAgent, type Recipe } from './recipes.ts';
