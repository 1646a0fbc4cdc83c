import { fileURLToPath } from 'node:url';

const isSource = import.meta.url.endsWith('.ts');
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The clone, or the package: it holds the plugin, the examples and the manual. */
export const ROOT: string = at(isSource ? '../../..' : '../..').replace(/\/$/, '');

/** The file that people and their programs start: of the clone, which finds a Node that is new enough, or of the package. */
export const PROGRAM: string = isSource ? `${ROOT}/bin/reveille` : at('../bin/reveille.cjs');
