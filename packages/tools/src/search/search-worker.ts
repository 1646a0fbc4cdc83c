import { parentPort, workerData } from 'node:worker_threads';
import { findInFiles, type FileText, type Wanted } from './find-lines.ts';

/**
 * Runs a pattern that somebody else wrote where it can be ended: one that backtracks without end would hold the whole
 * process otherwise. Imports nothing of other packages, so that it starts fast and anywhere.
 */
parentPort?.on('message', (files: readonly FileText[]) => {
  // Whoever starts it gives it a search of this shape.
  parentPort?.postMessage(findInFiles(files, workerData as Wanted));
});
