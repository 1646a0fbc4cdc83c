/** The few words in which the two databases differ. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** Text that is compared byte by byte, so that both databases order ids alike. */
  readonly text: string;
  readonly integer: string;
  readonly real: string;
  /** What follows the columns of a table that is found by its key. */
  readonly keyed: string;
}

/** A step forward; there is none back. It is never changed once it has been released. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  statements(dialect: Dialect): readonly string[];
}

export const SQLITE: Dialect = {
  name: 'sqlite',
  text: 'TEXT',
  integer: 'INTEGER',
  real: 'REAL',
  keyed: 'WITHOUT ROWID',
};
export const POSTGRES: Dialect = {
  name: 'postgres',
  text: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  real: 'DOUBLE PRECISION',
  keyed: '',
};
