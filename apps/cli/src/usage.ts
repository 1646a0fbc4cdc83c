/** The command line was not understood. The sentence says what to write instead; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** The command whose help would have told. */
  readonly command: string | null;

  constructor(message: string, command: string | null, options: ErrorOptions = {}) {
    super(message, options);
    this.command = command;
  }
}
