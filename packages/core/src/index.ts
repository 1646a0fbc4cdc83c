export * from './ports/clock.ts';
export * from './ports/dispatch.ts';
export * from './ports/executor.ts';
export * from './ports/store.ts';
