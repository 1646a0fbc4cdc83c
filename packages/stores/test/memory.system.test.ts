import { describe } from 'vitest';
import { dispatchModel, storeModel } from './model.ts';
import { openMemorySubject } from './subject.ts';

describe('memory, against a model', () => {
  storeModel(openMemorySubject, 300);
  dispatchModel(openMemorySubject, 300);
});
