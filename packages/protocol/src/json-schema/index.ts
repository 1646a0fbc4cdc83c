export { SCHEMA_LIMITS, schemaProblem } from './acceptable.ts';
export { checkJsonSchema } from './check.ts';
