import type { Migration } from './migration.ts';
import { records } from './001-records.ts';

export const MIGRATIONS: readonly Migration[] = [records];
