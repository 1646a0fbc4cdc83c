export type { Backend, CrashPoint } from './backend.ts';
export { Memory, openMemory, type MemoryBackend, type MemoryOptions } from './memory/open.ts';
export { MemoryTables } from './memory/tables.ts';
export { openSqlite, type SqliteOptions } from './sqlite/open.ts';
export { examineSqlite } from './sqlite/file.ts';
export { MIGRATIONS } from './migrations/index.ts';
export type { Dialect, Migration } from './migrations/migration.ts';
export { openPostgres } from './postgres/open.ts';
export type { PostgresOptions } from './postgres/options.ts';
