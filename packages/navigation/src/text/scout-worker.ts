import { parentPort } from 'node:worker_threads';
import type { Answered, Asked } from '../thread.ts';
import type { Guessed } from './all-defined.ts';
import type { Look, LookOptions } from './known-tree.ts';
import { packHits, type PackedHits } from './pack.ts';
import type { Spot } from './spots.ts';
import { Trees, type SurveyAsk } from './trees.ts';
import { eventsNoted } from './watch.ts';

/** What the thread is asked. Imports nothing of other packages, so that it starts fast. */
export type ScoutQuestion =
  | { readonly kind: 'look'; readonly root: string; readonly options: LookOptions }
  | {
      readonly kind: 'named';
      readonly root: string;
      readonly names: readonly string[];
      readonly again: boolean;
    }
  | {
      readonly kind: 'same';
      readonly root: string;
      readonly other: string;
      readonly endings: readonly string[];
    }
  | { readonly kind: 'rest'; readonly resting: boolean }
  | { readonly kind: 'survey'; readonly root: string; readonly asked: SurveyAsk }
  | { readonly kind: 'uses'; readonly root: string; readonly path: string; readonly name: string }
  | {
      readonly kind: 'definesOnly';
      readonly root: string;
      readonly path: string;
      readonly asked: Guessed;
    }
  | {
      readonly kind: 'places';
      readonly root: string;
      readonly spots: readonly (Spot & { readonly path: string })[];
    };
type Request = Asked<ScoutQuestion>;

const trees = new Trees({ watches: true });
const waiting: Request[] = [];
let answering = false;
let learning = false;
/** So many want no more to be read than is asked for. */
let resting = 0;

parentPort?.on('message', (request: Request) => {
  waiting.push(request);
  if (!answering) void answerAll();
});

/** In the order they came. What was written before a question came is known when it is answered. */
async function answerAll(): Promise<void> {
  answering = true;
  while (waiting.length > 0) {
    const batch = waiting.splice(0);
    if (batch.some(looksAtDisk)) await eventsNoted();
    for (const request of batch) post(request);
  }
  answering = false;
  if (!learning) learn();
}

const looksAtDisk = ({ question }: Request): boolean =>
  question.kind === 'same' ||
  question.kind === 'survey' ||
  (question.kind === 'named' && !question.again) ||
  (question.kind === 'look' && question.options.again !== true);

function post(request: Request): void {
  parentPort?.postMessage(answered(request));
}

function answered({ id, question }: Request): Answered {
  try {
    return { id, value: answer(question) };
  } catch (error) {
    return { id, error: String(error) };
  }
}

function answer(question: ScoutQuestion): unknown {
  if (question.kind === 'look') return packed(trees.look(question.root, question.options));
  if (question.kind === 'named') return trees.named(question.root, question.names, question.again);
  if (question.kind === 'same') return trees.same(question.root, question.other, question.endings);
  if (question.kind === 'rest') return void (resting = Math.max(0, resting + (question.resting ? 1 : -1)));
  if (question.kind === 'survey') return trees.survey(question.root, question.asked);
  if (question.kind === 'uses') return trees.uses(question.root, question.path, question.name);
  if (question.kind === 'definesOnly') return trees.definesOnly(question.root, question.path, question.asked);
  return trees.places(question.root, question.spots);
}

/** A look as it is handed over. */
export type PackedLook = Omit<Look, 'hits'> & { readonly hits: PackedHits };

const packed = ({ hits, ...look }: Look): PackedLook => ({ ...look, hits: packHits(hits) });

/** Between questions, what was not read yet is read a little at a time, so that the next question is answered faster. */
function learn(): void {
  learning = resting === 0 && trees.learn();
  if (learning) setImmediate(learn);
}
