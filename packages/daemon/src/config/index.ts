export { loadConfig, type LoadedConfig } from './load.ts';
export { repositoryItem, saysNothing } from './repository.ts';
export { SETTINGS } from './settings.ts';
