import { filesNamedBy } from '@reveille/core';
import { expect, test } from 'vitest';

test.each([
  ['sh build.sh', ['build.sh']],
  ['./run', ['./run']],
  ['node x.js --flag', ['x.js']],
  ['node --require=./hook.js x.js', ['./hook.js', 'x.js']],
  ['bash -c "sh build.sh && node y.js"', ['build.sh', 'y.js']],
  ['sudo timeout 5 sh build.sh', ['build.sh']],
  ['make', ['Makefile']],
  ['make -f rules.mk', ['rules.mk']],
  ['npm test', ['package.json']],
  ['python3 -m tools.release', ['tools/release.py', 'tools/release/__main__.py']],
  ['cd sub && sh build.sh', ['build.sh', 'sub/build.sh']],
  ['make -C sub', ['sub/Makefile']],
  ['sh < script.sh', ['script.sh']],
  ['if true; then . ./env.sh; fi', ['./env.sh']],
  ['find . -exec sh each.sh {} +', ['each.sh']],
  ['X=1 sh "my build.sh"', ['my build.sh']],
  ['echo $(sh inner.sh)', ['inner.sh']],
])('[INB3.2] the files of %s', (line, expected) => {
  expect(filesNamedBy(line)).toEqual(expect.arrayContaining(expected));
});

test('[INB3.2] are not without number', () => {
  expect(filesNamedBy('a '.repeat(50_000)).length).toBeLessThanOrEqual(60);
  const many = Array.from({ length: 5_000 }, (_, i) => `f${i}`).join(' ');
  expect(filesNamedBy(`sh ${many}`).length).toBeLessThanOrEqual(60);
});
