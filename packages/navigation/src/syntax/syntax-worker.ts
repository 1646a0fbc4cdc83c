import { parentPort } from 'node:worker_threads';
import type { Answered, Asked } from '../thread.ts';
import { Parsing, type SyntaxQuestion } from './parsing.ts';

const parsing = new Parsing();
let before: Promise<unknown> = Promise.resolve();

/** Whatever goes wrong ends the thread: nobody knows in what state it left the parser. */
parentPort?.on('message', ({ id, question }: Asked<SyntaxQuestion>) => {
  before = before.then(async () => {
    const answered: Answered = { id, value: await parsing.answer(question) };
    parentPort?.postMessage(answered);
  });
});
