import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EVERY_CALL, makeWorld, outcome, type World } from './world.ts';

const NAMES = Object.keys(withWorld((world) => world.tree()));

function withWorld<T>(use: (world: World) => T): T {
  using world = makeWorld();
  return use(world);
}

/** Parts of paths that have ever led somewhere, and any text at all. `<base>` stands for the world's own place. */
const PART = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '',
    '...',
    '~',
    '$HOME',
    '\\',
    '..\\',
    '\0',
    '%2e%2e',
    '%2e%2e%2f',
    '..;',
    ':',
    'file:',
    '-',

    '.git',
    '.GIT',
    'git~1',
    '.g\u200cit',
    '.git ',
    'config',
    'node_modules',
    '.mcp.json',
    '\u2025',
    '\uff0e\uff0e',

    'a.txt',
    'b.txt',
    'sub',
    'secret.txt',
    'new',
    'wt',
    'wt-evil',
    'outside',
    'proc',
    'self',
    'cwd',
    'root',
  ),
  fc.constantFrom(...NAMES),
  fc.constantFrom('<base>', '<base>/wt', '<base>/wt-evil', '<base>/outside'),
  fc.string({ unit: 'binary', maxLength: 20 }),
  // Halves of characters too.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 5 })
    .map((units) => String.fromCharCode(...units)),
);

const START = ['', '', '', '/', './', '../', '//', 'file://', '<base>/wt/', '<base>/wt', '/proc/self/cwd/'];
const PATH = fc
  .tuple(
    fc.constantFrom(...START),
    fc.array(PART, { minLength: 1, maxLength: 8 }),
    fc.constantFrom('', '', '', '/', '/.', '/..', '//'),
  )
  .map(([start, parts, end]) => start + parts.join('/') + end);
const CALL = fc.constantFrom(...Object.keys(EVERY_CALL));
const STEPS = fc.array(fc.record({ path: PATH, call: CALL }), { minLength: 1, maxLength: 20 });

for (const way of ['descriptor', 'path'] as const)
  test(`[BND1][BND1.14] whatever is asked of a door by ${way}, nothing outside is touched`, async () => {
    const property = fc.asyncProperty(STEPS, async (steps) => {
      using world = makeWorld({ way });
      const before = world.canary();
      for (const { path, call } of steps) {
        // Any error but one of ours fails.
        await outcome(EVERY_CALL[call]!(world.door, path.replaceAll('<base>', world.base)));
        expect(world.canary()).toEqual(before);
      }
    });
    await fc.assert(property, { numRuns: 300 });
  });

test('[BND1][BND1.14] whatever links an agent laid, nothing outside is touched or read', async () => {
  const text = PATH.filter((target) => target.length > 0 && !target.includes('\0'));
  const laid = fc.array(text, { minLength: 1, maxLength: 3 });
  const property = fc.asyncProperty(fc.array(laid, { maxLength: 8 }), STEPS, async (chains, steps) => {
    using world = makeWorld();
    // It holds the secret by right: a file of others that has a name in the tree.
    rmSync(join(world.root, 'hard.txt'));
    const before = world.canary();
    const links = chains.flatMap((texts, chain) =>
      texts.map((target, i) => {
        symlinkSync(target.replaceAll('<base>', world.base), join(world.root, `laid-${chain}-${i}`));
        return `laid-${chain}-${i}`;
      }),
    );
    for (const link of links) {
      const read = await world.door.readFile(link).catch(() => undefined);
      expect(read?.bytes.includes('secret') ?? false).toBe(false);
    }
    for (const [i, { path, call }] of steps.entries()) {
      const through = [links[i % links.length], links[(i * 7) % links.length], path].join('/');
      await outcome(EVERY_CALL[call]!(world.door, through.replaceAll('<base>', world.base)));
      expect(world.canary()).toEqual(before);
    }
  });
  await fc.assert(property, { numRuns: 200 });
});
