/** One thing that was said, whichever dialect it was said in. */
export interface Heard {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** What an assistant called. */
  readonly calls: readonly { readonly id: string; readonly name: string }[];
}

/** A tool as it was offered: its name, and what a dialect must say beside it to call it. */
export interface Offered {
  readonly name: string;
  readonly namespace?: string;
  /** It takes plain text, not JSON. */
  readonly plain?: boolean;
}

export interface Conversation {
  readonly model: string;
  readonly messages: readonly Heard[];
  readonly tools: readonly Offered[];
  readonly stream: boolean;
  /** Only JSON is understood. */
  readonly wantsJson: boolean;
}

export interface Called {
  readonly id: string;
  readonly tool: Offered;
  readonly input: Readonly<Record<string, unknown>>;
  /** The input as a stream sends it: half of it, if the answer was cut. */
  readonly json: string;
}

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** What the model answers. */
export interface Answer {
  readonly think: string;
  readonly say: string;
  readonly calls: readonly Called[];
  readonly usage: Tokens;
  readonly end: 'done' | 'calls' | 'cut' | 'refusal';
}

/** Assistants' messages that follow each other are one answer: some dialects send its parts one by one. */
export function joined(messages: readonly Heard[]): Heard[] {
  const all: Heard[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (message.role !== 'assistant' || last?.role !== 'assistant') {
      all.push(message);
      continue;
    }
    const text = [last.text, message.text].filter((part) => part !== '').join('\n');
    all[all.length - 1] = { role: 'assistant', text, calls: [...last.calls, ...message.calls] };
  }
  return all;
}

/** What a vendor would refuse: calls whose results do not follow at once. Null: nothing. */
export function unanswered(messages: readonly Heard[]): string | null {
  for (const [at, { calls }] of messages.entries()) {
    const results = messages.slice(at + 1, at + 1 + calls.length);
    if (results.length < calls.length || results.some(({ role }) => role !== 'tool'))
      return `calls were found without results right after them: ${calls.map(({ id }) => id).join(', ')}`;
  }
  return null;
}
