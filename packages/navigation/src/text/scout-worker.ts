import { parentPort } from 'node:worker_threads';
import type { Guessed } from './all-defined.ts';
import type { Look, LookOptions } from './known-tree.ts';
import { packHits, type PackedHits } from './pack.ts';
import type { Spot } from './spots.ts';
import { Trees, type SurveyAsk } from './trees.ts';
import { eventsNoted } from './watch.ts';

/** What the thread is asked. Imports nothing of other packages, so that it starts fast. */
export type Request = { readonly id: number } & (
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
    }
);

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

const looksAtDisk = (request: Request): boolean =>
  request.kind === 'same' ||
  request.kind === 'survey' ||
  (request.kind === 'named' && !request.again) ||
  (request.kind === 'look' && request.options.again !== true);

function post(request: Request): void {
  try {
    parentPort?.postMessage({ id: request.id, value: answer(request) });
  } catch (error) {
    parentPort?.postMessage({ id: request.id, error: String(error) });
  }
}

function answer(request: Request): unknown {
  if (request.kind === 'look') return packed(trees.look(request.root, request.options));
  if (request.kind === 'named') return trees.named(request.root, request.names, request.again);
  if (request.kind === 'same') return trees.same(request.root, request.other, request.endings);
  if (request.kind === 'rest') return void (resting += request.resting ? 1 : -1);
  if (request.kind === 'survey') return trees.survey(request.root, request.asked);
  if (request.kind === 'uses') return trees.uses(request.root, request.path, request.name);
  if (request.kind === 'definesOnly') return trees.definesOnly(request.root, request.path, request.asked);
  return trees.places(request.root, request.spots);
}

/** A look as it is handed over. */
export type PackedLook = Omit<Look, 'hits'> & { readonly hits: PackedHits };

const packed = ({ hits, ...look }: Look): PackedLook => ({ ...look, hits: packHits(hits) });

/** Between questions, what was not read yet is read a little at a time, so that the next question is answered faster. */
function learn(): void {
  learning = resting === 0 && trees.learn();
  if (learning) setImmediate(learn);
}
