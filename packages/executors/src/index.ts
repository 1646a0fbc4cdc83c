export type { ScriptedAgent } from './scripted/agent.ts';
export { GONE, type Memory } from './scripted/body.ts';
export {
  ScriptedWorld,
  scriptedExecutor,
  withoutScript,
  type ScriptedExecutor,
  type ScriptedOptions,
} from './scripted/executor.ts';
export type { Letter } from './scripted/letters.ts';
export type { History, Script } from './scripted/life.ts';
export { parseScript, withScript, type Step, type WrittenScript } from './scripted/written.ts';
