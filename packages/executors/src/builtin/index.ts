export { PROVIDERS, type Endpoint, type Provider } from './endpoint.ts';
export type { Price } from '../prices/price.ts';
export { priceOf } from '../prices/prices.ts';
export { builtinExecutor, forgetSessions, type BuiltinOptions } from './executor.ts';
export type { BuiltinRole } from './loop.ts';
export type { BuiltinResult, BuiltinTool } from './tools.ts';
