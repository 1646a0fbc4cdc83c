const LIST = /^export\s*\{([^{}]*)\}(?:\s*from\s*(['"])([^'"\n]+)\2)?/gm;
const STAR = /^export\s*\*\s*(as\s+[\w$]+\s*)?from\s*(['"])([^'"\n]+)\2/gm;

/** What a text passes on of others. */
export interface PassedOn {
  /** `export { name as other } from './file'`; from nowhere: it was imported, or is declared in a way that was not seen. */
  readonly lists: readonly { readonly names: string; readonly from: string | undefined }[];
  /** `export * as name from './file'`. */
  readonly stars: readonly { readonly as: string | undefined; readonly from: string }[];
}

export const passedOnIn = (text: string): PassedOn => ({
  lists: [...text.matchAll(LIST)].map(({ 1: names = '', 3: from }) => ({ names, from })),
  stars: [...text.matchAll(STAR)].map(({ 1: as, 3: from = '' }) => ({ as, from })),
});
