export { startDaemon, type Daemon, type DaemonOptions } from './daemon.ts';
export { compose, type Composition, type ComposeOptions } from './compose/compose.ts';
export type { Mount, Parts, World } from './compose/parts.ts';
export { loadConfig, type ConfigSources, type LoadedConfig } from './config/load.ts';
export { Config, configJsonSchema } from './config/schema.ts';
export type { ConfigProblem } from './config/problems.ts';
export { openLog, type Log } from './log/log.ts';
export { openPlace, placeOf, type Place } from './place/folder.ts';
