import { parentPort } from 'node:worker_threads';
import type { HitSpot } from './explain.ts';
import { Trees, type LookOptions } from './trees.ts';

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
  | { readonly kind: 'explain'; readonly root: string; readonly hits: readonly HitSpot[] }
  | { readonly kind: 'forget'; readonly root: string }
);

const trees = new Trees();
let learning = false;

parentPort?.on('message', (request: Request) => {
  try {
    parentPort?.postMessage({ id: request.id, value: answer(request) });
  } catch (error) {
    parentPort?.postMessage({ id: request.id, error: String(error) });
  }
  if (!learning) learn();
});

function answer(request: Request): unknown {
  if (request.kind === 'look') return trees.look(request.root, request.options);
  if (request.kind === 'named') return trees.named(request.root, request.names, request.again);
  if (request.kind === 'same') return trees.same(request.root, request.other, request.endings);
  if (request.kind === 'explain') return trees.explain(request.root, request.hits);
  return trees.forget(request.root);
}

/** Between questions, what was not read yet is read a little at a time, so that the next question is answered faster. */
function learn(): void {
  learning = trees.learn();
  if (learning) setImmediate(learn);
}
