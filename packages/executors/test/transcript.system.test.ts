import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModelMessage } from 'ai';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Transcript } from '../src/builtin/transcript.ts';

/** What can happen in a turn, in an order in which it can. */
const Act = fc.oneof(
  { weight: 3, arbitrary: fc.constant('words' as const) },
  { weight: 4, arbitrary: fc.constant('call' as const) },
  { weight: 3, arbitrary: fc.constant('steer' as const) },
  { weight: 3, arbitrary: fc.constant('mail while it answers' as const) },
  { weight: 1, arbitrary: fc.constant('shorten' as const) },
  { weight: 2, arbitrary: fc.constant('interrupt' as const) },
  { weight: 1, arbitrary: fc.constant('killed in a call' as const) },
);
type Act = typeof Act extends fc.Arbitrary<infer T> ? T : never;

/** An agent's session, driven as the loop does. */
class Session {
  readonly transcript: Transcript;
  #count = 0;

  constructor(transcript: Transcript) {
    this.transcript = transcript;
  }

  async begin(): Promise<void> {
    const n = ++this.#count;
    await this.transcript.begin({ turn: n, given: [`msg_g${n}`], text: '' }, `given ${n}`);
  }

  async do(act: Act): Promise<void> {
    const { transcript } = this;
    const n = ++this.#count;
    if (act === 'steer') return transcript.steer({ turn: 1, given: [`msg_s${n}`], text: `mail ${n}` });
    transcript.takeMail();
    // It had taken its mail and was waiting for an answer.
    if (act === 'interrupt') return this.begin();
    if (act === 'shorten') return transcript.shorten([{ role: 'user', content: `short ${n}` }]);
    if (act === 'mail while it answers') await this.do('steer');
    if (act === 'words' || act === 'mail while it answers')
      return transcript.answer({ role: 'assistant', content: `words ${n}` });
    const call = { type: 'tool-call' as const, toolCallId: `c${n}`, toolName: 't', input: {} };
    await transcript.answer({ role: 'assistant', content: [call] });
    if (act === 'killed in a call') return this.begin();
    const output = {
      type: 'text' as const,
      value: `<reveille-data msg_r${n}>\nx\n</reveille-data msg_r${n}>`,
    };
    await transcript.results({
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: `c${n}`, toolName: 't', output }],
    });
  }
}

/** Gone with the test, whatever becomes of it. */
function ownFolder(): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-transcript-'));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** Calls without a result right after them: no vendor takes such a conversation. */
function unanswered(messages: readonly ModelMessage[]): unknown[] {
  return messages.filter(
    (message, i) =>
      message.role === 'assistant' &&
      typeof message.content !== 'string' &&
      message.content.some(({ type }) => type === 'tool-call') &&
      messages[i + 1]?.role !== 'tool',
  );
}

test('[EXE1.68] whoever comes back has the conversation that was, wherever it was left', async () => {
  using place = ownFolder();
  const { folder } = place;
  let files = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(Act, { maxLength: 12 }), async (acts) => {
      const path = join(folder, `${++files}.jsonl`);
      const session = new Session(await Transcript.open(path));
      await session.begin();
      for (const act of acts) await session.do(act);
      const copy = join(folder, `${files}-copy.jsonl`);
      writeFileSync(copy, readFileSync(path));
      const back = await Transcript.open(copy);
      expect(back.whole).toBe(true);
      for (const [, id = ''] of readFileSync(path, 'utf8').matchAll(/(msg_[gsr]\d+)/g))
        expect(back.has(id)).toBe(session.transcript.has(id));
      for (const each of [session.transcript, back])
        await each.begin({ turn: 99, given: [], text: '' }, 'go on');
      expect(back.messages).toEqual(session.transcript.messages);
      expect(unanswered(back.messages)).toEqual([]);
      expect([back.task, back.letters, back.answers]).toEqual([
        session.transcript.task,
        session.transcript.letters,
        session.transcript.answers,
      ]);
      await Promise.all([session.transcript.close(), back.close()]);
    }),
    { numRuns: 40, examples: [[['steer', 'interrupt', 'mail while it answers']]] },
  );
});

test('[EXE1.68] nothing is lost of what stands before a damaged line, and what was taken is on disk', async () => {
  using place = ownFolder();
  const path = join(place.folder, 'a.jsonl');
  const first = await Transcript.open(path);
  await first.begin({ turn: 1, given: ['run_1'], text: '' }, 'the task');
  await first.steer({ turn: 1, given: ['msg_1'], text: 'mail' });
  expect(readFileSync(path, 'utf8')).toContain('msg_1');
  await first.close();
  await expect(first.steer({ turn: 1, given: [], text: '' })).rejects.toThrow('closed');
  appendFileSync(path, '{"kind":"ans\n{"kind":"note","text":"after"}\n');
  const back = await Transcript.open(path);
  expect([back.whole, back.has('msg_1'), back.has('run_1'), back.hasMail]).toEqual([false, true, true, true]);
  expect(back.messages).toEqual([{ role: 'user', content: 'the task' }]);
  await back.note('new');
  await back.close();
  const again = await Transcript.open(path);
  expect([again.whole, again.messages.length]).toEqual([true, 2]);
  await again.close();
});
