/** In dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Of what was read from a cache; null: as any other input. */
  readonly cached: number | null;
  /** Of what was written into one; absent: as any other input. */
  readonly written?: number | null;
  /** What a long conversation costs: all of it, once it is longer. */
  readonly above?: { readonly tokens: number; readonly input: number; readonly output: number };
}
