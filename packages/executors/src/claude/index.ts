export { claudeExecutor } from './executor.ts';
export { CLAUDE, type ClaudeOptions } from './options.ts';
export { SDK_PACKAGE, bundledProgram, loadSdk, sdkFile } from './sdk.ts';
