import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../src/system.ts';

test('ids grow, and two sources never give the same one', () => {
  const [one, two] = [systemRandom(), systemRandom()];
  const ids = Array.from({ length: 100_000 }, () => one.id());
  expect(ids).toEqual(ids.toSorted());
  expect(new Set([...ids, ...Array.from({ length: 1_000 }, () => two.id())]).size).toBe(101_000);
  expect(ids.every((id) => /^[0-9a-z]{18}$/.test(id))).toBe(true);
});

test('a timer is never early, can be taken back, and keeps no process alive', async () => {
  const clock = systemClock({ keepsAlive: true });
  const begun = clock.mono();
  let fired = false;
  const cancel = clock.after(5, () => (fired = true));
  cancel();
  await new Promise<void>((resolve) => clock.after(12, resolve));
  expect(clock.mono() - begun).toBeGreaterThanOrEqual(12);
  expect(fired).toBe(false);
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const far = systemClock().after(10_000_000_000, () => undefined);
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBe(before);
  far();
});
