import { expect, test } from 'vitest';
import { describeProblems, runScene } from './operations/suite.ts';

/** Of some two thousand acts; `npm run crash -- --operations` takes all. */
const MOST = 3;
const SEED = 1;

async function someKills(scene: string): Promise<void> {
  const results = await runScene(scene, { most: MOST, seed: SEED });
  expect(results.length).toBeGreaterThan(1);
  expect(describeProblems(results)).toBe('');
}

test('[WKT6.83] killed at acts of an integration: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('integration');
});

test('[WKT6.35] killed at acts of a pull: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('pull');
});

test('[WKT6.95] killed at acts of a discard: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('discard');
});

test('[WKT6.95] killed at acts of a restore: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('restore');
});

test('[WKT6.95] killed at acts of a restore over what is there: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('restore-over');
});

test('[WKT6.95] killed at acts of a retry from a snapshot: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('retry-from');
});

test('[WKT6.95] killed at acts of taking a checkout over and giving it back: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('take-over');
});

test('[WKT6.95] killed before the files of a snapshot are laid: the retry does not take the new checkout for what was left', async () => {
  const results = await runScene('retry-from', {
    at: 1,
    named: '^rename .*/laying[.]json',
    victims: 'self',
    seed: SEED,
  });
  expect(results.map(({ act }) => act)).toEqual([expect.stringContaining('laying.json')]);
  expect(describeProblems(results)).toBe('');
});

test('[PLN6.13] killed at acts of bringing work home: nothing is lost or half done, and the same call again ends well', async () => {
  await someKills('bring-home');
});
