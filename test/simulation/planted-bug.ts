import type { Invariant } from './auditor.ts';

export interface PlantedBug {
  readonly name: string;
  /** What it breaks. The simulation may notice it by another of the invariants first. */
  readonly invariant: Invariant;
  readonly file: string;
  /** Occurs exactly once in the file. When the code moves on, so must this. */
  readonly find: string;
  readonly replace: string;
  readonly why: string;
  /** How many seeds may be needed to find it, if more than usual. */
  readonly within?: number;
}

export const core = (file: string): string => `packages/core/src/${file}`;
