export { PROVIDERS, type Endpoint, type Price, type Provider } from './endpoint.ts';
export { builtinExecutor, forgetSessions, type BuiltinOptions } from './executor.ts';
export type { BuiltinRole } from './loop.ts';
export type { BuiltinResult, BuiltinTool } from './tools.ts';
