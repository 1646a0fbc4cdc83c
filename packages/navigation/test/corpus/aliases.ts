import { lines, type Repository } from './question.ts';

/** Path aliases, folders of generated and of built files. */
export const aliases: Repository = {
  name: 'path aliases and generated files',
  files: {
    'tsconfig.json': lines(
      '{',
      '  // with comments, as people write them',
      '  "compilerOptions": {',
      '    "strict": true, "module": "esnext", "moduleResolution": "bundler", "outDir": "dist",',
      '    "paths": { "@/*": ["./src/*"], "#model": ["./src/generated/model.ts"], },',
      '  },',
      '  "include": ["src"],',
      '}',
    ),
    'src/generated/model.ts': lines(
      '// Made by a program.',
      'export interface Order { id: string; total: number }',
      'export const emptyOrder: Order = { id: "", total: 0 };',
    ),
    'src/lib/price.ts': lines(
      "import type { Order } from '#model';",
      'export const price = (order: Order): number => order.total;',
    ),
    'src/lib/index.ts': lines(
      "export { price } from './price';",
      "export { price as default } from './price';",
    ),
    'src/app.ts': lines(
      "import cost, { price } from '@/lib';",
      "import { emptyOrder, type Order } from '#model';",
      'const order: Order = emptyOrder;',
      'export const both = price(order) + cost(order);',
    ),
    'dist/lib/price.js': lines(
      'export const price = (order) => order.total;',
      'export const old = price({ total: 1 });',
    ),
    'docs/order.json': '{ "Order": "price" }\n',
  },
  questions: [
    { ask: 'define', symbol: 'cost', from: 'src/app.ts', is: ['src/lib/price.ts:2'] },
    { ask: 'define', symbol: 'price', from: 'src/app.ts', is: ['src/lib/price.ts:2'] },
    { ask: 'define', symbol: 'Order', is: ['src/generated/model.ts:2'] },
    { ask: 'define', symbol: 'emptyOrder', from: 'src/app.ts', is: ['src/generated/model.ts:3'] },
    {
      ask: 'usages',
      symbol: 'Order',
      file: 'src/generated/model.ts',
      is: [
        'src/app.ts:2',
        'src/app.ts:3',
        'src/generated/model.ts:3',
        'src/lib/price.ts:1',
        'src/lib/price.ts:2',
      ],
      uncovered: 'no code',
    },
    {
      ask: 'usages',
      symbol: 'price',
      file: 'src/lib/price.ts',
      is: [
        'src/app.ts:1',
        'src/app.ts:1',
        'src/app.ts:4',
        'src/app.ts:4',
        'src/lib/index.ts:1',
        'src/lib/index.ts:2',
        'src/lib/index.ts:2',
      ],
      uncovered: 'another symbol',
    },
    { ask: 'importers', module: 'src/generated/model.ts', is: ['src/app.ts:2', 'src/lib/price.ts:1'] },
    { ask: 'importers', module: 'src/lib/index.ts', is: ['src/app.ts:1'] },
    { ask: 'importers', module: 'src/lib/price.ts', is: ['src/lib/index.ts:1', 'src/lib/index.ts:2'] },
    { ask: 'imports', module: 'src/app.ts', is: ['src/generated/model.ts', 'src/lib/index.ts'] },
    { ask: 'exports', module: 'src/lib', is: ['default', 'price'] },
  ],
};

/** JavaScript with no settings at all, in both kinds of modules. */
export const scripts: Repository = {
  name: 'plain JavaScript',
  files: {
    'package.json': '{ "name": "plain" }',
    'lib/queue.js': lines(
      'class Queue {',
      '  push(item) { this.items = [...(this.items ?? []), item]; }',
      '}',
      'function makeQueue() {',
      '  return new Queue();',
      '}',
      'module.exports = { makeQueue, Queue };',
    ),
    'bin/run.js': lines(
      "const { makeQueue } = require('../lib/queue');",
      'const queue = makeQueue();',
      "queue.push('makeQueue');",
    ),
    'lib/timer.mjs': lines('export function tick() {', '  return Date.now();', '}', 'export default tick;'),
    'bin/clock.mjs': lines("import now, { tick } from '../lib/timer.mjs';", 'tick();', 'now(); // tick'),
    'bin/unrelated.mjs': lines('function tick() {}', 'tick();'),
  },
  questions: [
    { ask: 'define', symbol: 'makeQueue', from: 'bin/run.js', is: ['lib/queue.js:4'] },
    { ask: 'define', symbol: 'Queue', is: ['lib/queue.js:1'] },
    { ask: 'define', symbol: 'tick', is: ['bin/unrelated.mjs:1', 'lib/timer.mjs:1'] },
    { ask: 'define', symbol: 'now', from: 'bin/clock.mjs', is: ['lib/timer.mjs:1'] },
    {
      ask: 'usages',
      symbol: 'tick',
      file: 'lib/timer.mjs',
      is: ['bin/clock.mjs:1', 'bin/clock.mjs:1', 'bin/clock.mjs:2', 'bin/clock.mjs:3', 'lib/timer.mjs:4'],
      uncovered: 'another symbol',
    },
    {
      ask: 'usages',
      symbol: 'makeQueue',
      file: 'lib/queue.js',
      is: ['bin/run.js:1', 'bin/run.js:2', 'lib/queue.js:7'],
      uncovered: 'in a string',
    },
    { ask: 'importers', module: 'lib/queue.js', is: ['bin/run.js:1'] },
    { ask: 'importers', module: 'lib/timer.mjs', is: ['bin/clock.mjs:1'] },
    { ask: 'exports', module: 'lib/timer.mjs', is: ['default', 'tick'] },
    { ask: 'imports', module: 'bin/clock.mjs', is: ['lib/timer.mjs'] },
  ],
};
