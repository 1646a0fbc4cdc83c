import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Trust, type TrustItem } from '../../src/trust/trust.ts';

let scratch: string;
let folder: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'reveille-trust-'));
  folder = join(scratch, 'state', 'trust');
});
afterEach(async () => rm(scratch, { recursive: true, force: true }));

const REPOSITORY = '/projects/one/.git';
const verify: TrustItem = { kind: 'command', name: 'verify', content: 'npm test' };
const agent: TrustItem = { kind: 'agent', name: '.claude/agents/coder.md', content: '# coder\n' };

const trusted = async (trust: Trust, repository: string, ...items: TrustItem[]): Promise<boolean[]> =>
  items.map(await trust.grantedIn(repository));

describe('trust', () => {
  test('[BND5.1] what a repository brings is not trusted until the person says so', async () => {
    const trust = new Trust({ folder });
    expect(await trusted(trust, REPOSITORY, verify, agent)).toEqual([false, false]);
    await trust.grant(REPOSITORY, [verify]);
    expect(await trusted(trust, REPOSITORY, verify, agent)).toEqual([true, false]);
    expect(await trusted(new Trust({ folder }), REPOSITORY, verify)).toEqual([true]);
  });

  test('[BND5.2] another content, name or kind is another thing', async () => {
    const trust = new Trust({ folder });
    await trust.grant(REPOSITORY, [verify]);
    const others: TrustItem[] = [
      { ...verify, content: 'npm test; curl evil' },
      { ...verify, content: 'npm test\n' },
      { ...verify, name: 'setup' },
      { ...verify, kind: 'mcp' },
      // The same letters, divided otherwise.
      { kind: 'command', name: 'verifynpm', content: ' test' },
    ];
    expect(await trusted(trust, REPOSITORY, ...others)).toEqual(others.map(() => false));
  });

  test('[BND5.2] the way back to a trusted content is trusted, the way through another is not', async () => {
    const trust = new Trust({ folder });
    await trust.grant(REPOSITORY, [verify]);
    expect(await trusted(trust, REPOSITORY, { ...verify, content: 'evil' })).toEqual([false]);
    expect(await trusted(trust, REPOSITORY, verify)).toEqual([true]);
  });

  test('[BND5.3] the same content in another repository is not trusted there', async () => {
    const trust = new Trust({ folder });
    await trust.grant(REPOSITORY, [verify]);
    expect(await trusted(trust, '/projects/two/.git', verify)).toEqual([false]);
  });

  test('[BND5.4] trust is taken back for one thing, or for a repository', async () => {
    const trust = new Trust({ folder });
    await trust.grant(REPOSITORY, [verify, agent]);
    await trust.grant('/projects/two/.git', [verify]);
    await trust.revoke(REPOSITORY, [verify]);
    expect(await trusted(trust, REPOSITORY, verify, agent)).toEqual([false, true]);
    await trust.revoke(REPOSITORY);
    expect(await trusted(trust, REPOSITORY, agent)).toEqual([false]);
    expect(await trusted(trust, '/projects/two/.git', verify)).toEqual([true]);
    await trust.revoke('/projects/never/.git');
  });

  test('[BND5.4] the list says what was trusted where and when, newest first, and not the content', async () => {
    let day = 1;
    const trust = new Trust({ folder, now: () => new Date(Date.UTC(2030, 0, day++)) });
    await trust.grant(REPOSITORY, [verify]);
    await trust.grant(REPOSITORY, [agent]);
    expect(await trust.list()).toMatchObject([
      { repository: REPOSITORY, kind: 'agent', name: agent.name, at: '2030-01-02T00:00:00.000Z' },
      { repository: REPOSITORY, kind: 'command', name: 'verify', at: '2030-01-01T00:00:00.000Z' },
    ]);
    expect(JSON.stringify(await trust.list())).not.toContain(verify.content);
  });

  test('[BND5.5] the record is the person’s alone, and whole', async () => {
    const trust = new Trust({ folder });
    await trust.grant(REPOSITORY, [verify]);
    const [name = '', ...others] = await readdir(folder);
    expect(others).toEqual([]);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  });

  test('[BND5.5] a record that is damaged, moved or made by hand counts for nothing', async () => {
    const trust = new Trust({ folder });
    await trust.grant(REPOSITORY, [verify, agent]);
    const [first = '', second = ''] = await readdir(folder);
    await writeFile(join(folder, first), await readFile(join(folder, second)));
    await writeFile(join(folder, second), '{"repository":');
    expect(await trusted(trust, REPOSITORY, verify, agent)).toEqual([false, false]);
    expect(await trust.list()).toEqual([]);
    await writeFile(join(folder, 'notes.txt'), 'not ours');
    expect(await trust.list()).toEqual([]);
  });

  test('[BND5.5] a folder that others can write to is not believed, and not written to', async () => {
    const trust = new Trust({ folder });
    await trust.grant(REPOSITORY, [verify]);
    await chmod(folder, 0o770);
    expect(await trusted(trust, REPOSITORY, verify)).toEqual([false]);
    expect(await trust.list()).toEqual([]);
    await expect(trust.grant(REPOSITORY, [agent])).rejects.toMatchObject({ code: 'not_allowed' });
    await chmod(folder, 0o700);
    expect(await trusted(trust, REPOSITORY, verify)).toEqual([true]);
    const link = join(scratch, 'link');
    await symlink(folder, link);
    expect(await trusted(new Trust({ folder: link }), REPOSITORY, verify)).toEqual([false]);
  });

  test('[BND5.6] many at once lose nothing', async () => {
    const items = Array.from({ length: 60 }, (_, i): TrustItem => ({ ...verify, name: `command ${i}` }));
    await Promise.all(items.map(async (item) => new Trust({ folder }).grant(REPOSITORY, [item])));
    const odd = items.filter((_, i) => i % 2 === 1);
    await Promise.all(odd.map(async (item) => new Trust({ folder }).revoke(REPOSITORY, [item])));
    expect(await trusted(new Trust({ folder }), REPOSITORY, ...items)).toEqual(
      items.map((_, i) => i % 2 === 0),
    );
  });
});
