import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '@reveille/daemon/system';

test('[DMN1.92] ids grow, and two sources never give the same one', () => {
  const [one, two] = [systemRandom(), systemRandom()];
  const ids = Array.from({ length: 100_000 }, () => one.id());
  expect(ids.every((id, i) => i === 0 || ids[i - 1]! < id)).toBe(true);
  expect(new Set([...ids, ...Array.from({ length: 1_000 }, () => two.id())]).size).toBe(101_000);
  expect(ids.every((id) => /^[0-9a-z]{18}$/.test(id))).toBe(true);
});

test('[DMN1.92] a timer is never early and can be taken back', async () => {
  const clock = systemClock();
  const begun = clock.mono();
  let fired = false;
  const cancel = clock.after(5, () => (fired = true));
  cancel();
  await new Promise<void>((resolve) => clock.after(12, resolve));
  expect(clock.mono() - begun).toBeGreaterThanOrEqual(12);
  expect(fired).toBe(false);
});
