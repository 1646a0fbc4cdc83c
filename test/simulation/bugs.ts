import type { Invariant } from './auditor.ts';

export interface PlantedBug {
  readonly name: string;
  /** What it breaks. The simulation may notice it by another of the invariants first. */
  readonly invariant: Invariant;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly why: string;
}

export const BUGS: readonly PlantedBug[] = [];
