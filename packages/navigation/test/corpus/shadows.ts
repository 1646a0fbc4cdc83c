import { lines, type Repository } from './question.ts';

/** What a file imports has the name of a variable, a parameter, or a member there. */
export const shadows: Repository = {
  name: 'imported names that stand for something else too',
  files: {
    'tsconfig.json': lines(
      '{ "compilerOptions": { "strict": true, "jsx": "preserve", "module": "esnext", "moduleResolution": "bundler" }, "include": ["src"] }',
    ),
    'src/colors.ts': lines(
      'export const RED = "red";',
      'export type Color = typeof RED;',
      'export const scale = (color: Color) => color;',
    ),
    'src/pens.ts': lines(
      "import { RED, scale, type Color } from './colors.ts';",
      'export interface Pen { Color: string; scale: number }',
      'export const thin = (scale: number) => ({ Color: 1, scale });',
      'export function ink({ RED }: { RED: string }) {',
      '  const scale = RED.length;',
      '  return scale;',
      '}',
      'export const dye: Color = scale(RED);',
    ),
    'src/dots.tsx': lines(
      'declare namespace JSX { interface IntrinsicElements { div: object } }',
      '/*',
      "import { RED } from './pens.ts';",
      '*/',
      "import { RED } from './colors.ts';",
      "import { scale } from './colors.ts';",
      'export function Dot({ scale }: { scale: number }) {',
      '  const RED = scale;',
      '  return <div>{RED}</div>;',
      '}',
      'export const red = <div>{scale(RED)}</div>;',
    ),
    'src/old.js': lines(
      "import { scale } from './colors.ts';",
      'export class Ruler {',
      '  scale() { return this.scale; }',
      '}',
      'scale(1);',
    ),
  },
  questions: [
    { ask: 'define', symbol: 'scale', from: 'src/pens.ts', is: ['src/colors.ts:3'] },
    { ask: 'define', symbol: 'RED', from: 'src/pens.ts', is: ['src/colors.ts:1'] },
    { ask: 'define', symbol: 'Color', from: 'src/pens.ts', is: ['src/colors.ts:2'] },
    { ask: 'define', symbol: 'Pen.scale', from: 'src/pens.ts', is: ['src/pens.ts:2'] },
    { ask: 'define', symbol: 'scale', from: 'src/dots.tsx', is: ['src/colors.ts:3'] },
    { ask: 'define', symbol: 'RED', from: 'src/dots.tsx', is: ['src/colors.ts:1'] },
    { ask: 'define', symbol: 'scale', from: 'src/old.js', is: ['src/colors.ts:3'] },
    {
      ask: 'usages',
      symbol: 'scale',
      file: 'src/colors.ts',
      is: [
        'src/dots.tsx:11',
        'src/dots.tsx:6',
        'src/old.js:1',
        'src/old.js:5',
        'src/pens.ts:1',
        'src/pens.ts:8',
      ],
      uncovered: 'another symbol',
    },
    // The file that defines it is said: that it imports another of the name is not what is asked.
    { ask: 'usages', symbol: 'scale', file: 'src/pens.ts', is: [], uncovered: 'another symbol' },
    {
      ask: 'usages',
      symbol: 'RED',
      file: 'src/colors.ts',
      is: ['src/colors.ts:2', 'src/dots.tsx:11', 'src/dots.tsx:5', 'src/pens.ts:1', 'src/pens.ts:8'],
      uncovered: 'another symbol',
    },
  ],
};
