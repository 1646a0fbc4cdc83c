import { openMemory, type Backend } from '@reveille/stores';
import { FakeClock } from './fake-clock.ts';

/** A store under test. Every call of `open` gives an empty one. */
export interface Subject {
  readonly backend: Backend;
  /** Lets the time of the dispatch go by. */
  advance(ms: number): Promise<void>;
  /** Ends it as a stop does, and opens what it left. Not on memory, which leaves nothing. */
  reopen?(): Promise<Subject>;
  dispose(): Promise<void>;
}
export type OpenSubject = () => Promise<Subject>;

export const openMemorySubject: OpenSubject = async () => {
  const clock = new FakeClock();
  const backend = openMemory({ clock });
  return { backend, advance: async (ms) => clock.advance(ms), dispose: () => backend.close() };
};
