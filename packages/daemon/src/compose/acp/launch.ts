import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { StartSpec } from '@reveille/core';
import {
  checkEndpoint,
  endpointsIn,
  environmentFor,
  findProgram,
  installedWith,
  makeHome,
  missing,
  type Launch,
} from '@reveille/executors/acp';
import { ReveilleError } from '@reveille/protocol';
import type { Boundary, Confinement, Network } from '@reveille/worktrees';
import { expandHome } from '../../config/home.ts';
import type { AcpBackend } from './backends.ts';

export interface LaunchParts {
  readonly boundary: Boundary;
  /** Ours: where the homes of agents are. */
  readonly folder: string;
  /** Whether everything an agent wants leave for is to be asked. */
  readonly asks: boolean;
  /** The home whose logins agents are given. */
  readonly person: string;
}

/** How an agent of this backend is started for a run: in our sandbox, with its own home, keys and way to its model. */
export async function launchFor(
  spec: StartSpec,
  backend: AcpBackend,
  parts: LaunchParts & { readonly readOnly: boolean },
): Promise<Launch> {
  const { boundary, asks, readOnly } = parts;
  const { preset, configured } = backend;
  const found = findProgram(programsOf(backend), process.env['PATH'] ?? '');
  if (found === null) throw new ReveilleError('not_found', missing(preset).message);
  const { program, reads } = installedWith(found, homedir());
  const confined = boundary.sandbox.kind !== 'none';
  const holding = { confined, asks };
  const folder = join(parts.folder, preset.name, spec.task.id);
  const { home, credentials } = makeHome(folder, preset, parts.person);
  const from = { outer: process.env, configured: configured.env };
  const env = {
    ...environmentFor(preset, holding, from),
    ...spec.workspace?.environment,
    HOME: home,
  };
  await checkEndpoint(preset, env);
  const base = await confinementOf(spec, parts, { env, write: !readOnly });
  const { lent = [] } = base;
  const { loopback, hosts } = endpointsIn(env, [...preset.hosts, ...configured.hosts]);
  const paths = (named: readonly string[]): string[] => named.map((path) => expandHome(path, homedir()));
  const confinement: Confinement = {
    ...base,
    network: reaching(base.network, hosts),
    loopback: [...(base.loopback ?? []), ...loopback],
    reads: [...(base.reads ?? []), ...reads, ...paths(configured.reads)],
    writes: [...(base.writes ?? []), home, ...credentials, ...paths(configured.writes)],
    lent: [...lent, home, ...reads],
    // Its own sandbox is on only where we want to be asked; it needs what ours would take away. Root's cannot nest.
    nested: preset.name === 'codex' && asks && process.getuid?.() !== 0,
  };
  const args = [...preset.args, ...configured.args];
  const wrapped = await boundary.sandbox.wrap([program, ...args], confinement);
  return { ...wrapped, workdir: confinement.checkout.path, confined };
}

/** Where its program may be: what is configured, else its names on the path. */
export const programsOf = ({ preset, configured }: AcpBackend): readonly string[] =>
  configured.program === null ? preset.programs : [configured.program];

/** A model must be reached also by one that may reach nothing else. */
function reaching(network: Network, hosts: readonly string[]): Network {
  if (network.kind === 'on' || hosts.length === 0) return network;
  return { kind: 'list', hosts: [...(network.kind === 'list' ? network.hosts : []), ...hosts] };
}

/** Without a checkout it works in an empty folder, and sees nothing of any repository. */
async function confinementOf(
  { task, workspace }: StartSpec,
  { boundary, folder }: LaunchParts,
  options: { readonly env: Readonly<Record<string, string>>; readonly write: boolean },
): Promise<Confinement> {
  if (workspace) return boundary.confine(await boundary.checkoutOf(task), options);
  const room = join(folder, 'without-files', task.id);
  const path = join(room, 'work');
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const none = join(room, 'none');
  const repository = {
    root: none,
    gitDir: join(none, '.git'),
    home: join(room, 'none.worktrees'),
    objectStores: [],
  };
  const checkout = { repository, name: 'work', kind: 'clone', path, room } as const;
  const nowhere = { agentGitDir: join(path, '.git'), ownGitDir: join(room, 'git'), branch: '', start: '' };
  return { ...boundary.confine({ ...checkout, ...nowhere }, options), lent: [room] };
}
