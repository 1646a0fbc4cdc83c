import { canLimit } from '../sandbox/bootstrap.ts';
import { findSandbox, type Found } from '../sandbox/probe.ts';
import { openSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { ALLOWED, type Allowed } from './allowed.ts';
import { ATTACKS, type Attack, type Gap } from './attacks.ts';
import type { Measure } from '../sandbox/totals.ts';
import { confinementIn, makeScene, type Scene } from './scene.ts';

/** One line of the matrix of what is enforced here. */
export interface Tried {
  readonly group: string;
  readonly name: string;
  readonly expected: 'refused' | 'works';
  readonly got: 'refused' | 'works' | 'escaped' | 'fails' | 'not tried';
  /** What went wrong, or why it was not tried. */
  readonly detail: string;
  /** It escaped by a gap that is known of this machine. */
  readonly gap: Gap | null;
}

const TIMEOUT_MS = 60_000;

/** Really tries everything, in the sandbox that is used for agents. Empty where there is none. */
export async function tryEverything(measure?: Measure): Promise<Tried[]> {
  const found = await findSandbox();
  if (found.kind === 'none') return [];
  await using scene = await makeScene();
  await using sandbox = await openSandbox({
    setting: 'require',
    warn: () => {},
    home: scene.home,
    env: scene.env,
    ...(measure ? { measure } : {}),
  });
  const tried: Tried[] = [];
  for (const allowed of ALLOWED) tried.push(await tryAllowed(sandbox, scene, allowed));
  for (const [group, attacks] of Object.entries(ATTACKS)) {
    for (const attack of attacks.filter(({ sums }) => measure || !sums))
      tried.push(await tryAttack({ sandbox, scene, found, group, attack }));
  }
  return tried;
}

export async function tryAllowed(sandbox: Sandbox, scene: Scene, allowed: Allowed): Promise<Tried> {
  const confinement = confinementIn(scene, allowed.changes);
  const ran = await sandbox.run(`set -u\n${allowed.script}`, confinement, { timeoutMs: TIMEOUT_MS });
  const works = ran.output.includes(allowed.says ?? 'WORKS');
  const line = { group: 'allowed', name: allowed.name, expected: 'works', gap: null } as const;
  return { ...line, got: works ? 'works' : 'fails', detail: works ? '' : lastWords(ran.output) };
}

interface Trial {
  readonly sandbox: Sandbox;
  readonly scene: Scene;
  readonly found: Pick<Found, 'bubblewrap'>;
  readonly group: string;
  readonly attack: Attack;
}

/** Also used without a sandbox, to see that an attack can succeed. */
export async function tryAttack({ sandbox, scene, found, group, attack }: Trial): Promise<Tried> {
  const confinement = confinementIn(scene, attack.changes);
  const needs = (attack.needs ?? []).map(
    (name) => `command -v ${name} > /dev/null || { echo MISSING ${name}; exit; }\n`,
  );
  const script = `set -u\n${needs.join('')}${attack.script}`;
  const ran = await sandbox.run(script, confinement, { timeoutMs: TIMEOUT_MS, graceMs: 100 });
  const damage = await scene.damage();
  const line = { group, name: attack.name, expected: 'refused', detail: '', gap: null } as const;
  if (/^MISSING /m.test(ran.output)) return { ...line, got: 'not tried', detail: lastWords(ran.output) };
  const said = /^ESCAPED.*/m.exec(ran.output)?.[0];
  const read = ran.output.includes(scene.secret);
  if (said === undefined && !read && damage.length === 0) return { ...line, got: 'refused' };
  // Not what it printed: that may be other people's secrets.
  const detail = damage.length > 0 ? `changed: ${damage.join(', ')}` : (said ?? 'read what is hidden');
  return { ...line, got: 'escaped', detail, gap: attack.unless?.find((each) => isGap(each, found)) ?? null };
}

function isGap(gap: Gap, { bubblewrap }: Pick<Found, 'bubblewrap'>): boolean {
  switch (gap) {
    case 'root':
      return process.getuid?.() === 0;
    case 'no limits':
      return bubblewrap !== null && !canLimit(bubblewrap);
    case 'no scope':
      return bubblewrap?.canScope === false;
    case 'no filter':
      return bubblewrap?.canFilter === false;
    default:
      return gap satisfies never;
  }
}

const lastWords = (output: string): string => output.trim().slice(-300);
