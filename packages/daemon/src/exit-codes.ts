/** How the process of a daemon ends, for whoever started it. */
export const EXIT = {
  /** Another daemon holds the place: nothing is wrong. */
  held: 75,
  /** A later start may succeed. */
  failed: 1,
  /** No start can succeed before a person has done something. */
  cannot: 78,
} as const;
