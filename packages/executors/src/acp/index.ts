export { acpExecutor } from './executor.ts';
export type { AcpOptions, ToolAccess, Waits } from './options.ts';
export type { Hands } from './doors.ts';
export { PRESETS, custom, type Holding, type Preset, type Quirks } from './presets.ts';
export type { Launch } from './process.ts';
export type { Wish } from './permission.ts';
