/** How the process of a daemon ends, for whoever started it. */
export const EXIT = {
  /** Another daemon holds the place: nothing is wrong. */
  held: 75,
  failed: 1,
} as const;
