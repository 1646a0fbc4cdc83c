import { expect, test } from 'vitest';
import { partsOfHover } from '../src/questions/describe.ts';

test.for([
  ['```ts\nfunction a(): void\n```\nDoes it.\n\nAnd more.', 'function a(): void', 'Does it.'],
  ['```cpp\n// In namespace geo\ndouble scale(double by)\n```', 'double scale(double by)', null],
  ['__Cart__\n```php\n<?php\nclass Cart { }\n```', 'class Cart { }', null],
  ['plain\nDoes it.', 'plain', 'Does it.'],
  [null, null, null],
] as const)('[NAV1.13] what a server shows is taken apart: %j', ([hover, signature, doc]) => {
  expect(partsOfHover(hover)).toEqual({ signature, doc });
});
