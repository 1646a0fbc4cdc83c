import { createHash } from 'node:crypto';
import { isAbsolute, relative } from 'node:path';
import type { Judged, Permit, PermitOptions, StartSpec } from '@reveille/core';
import type { AgentAction, AgentPermits } from '@reveille/executors/acp';
import type { Action, CallerWorld, PolicyLayer, RunId, SessionId } from '@reveille/protocol';

type Worker = { readonly session: SessionId; readonly run: RunId; readonly epoch: number };

/** The engine's one way to leave, as the rooms that need it are handed it. */
export interface EnginePermits {
  judge(
    caller: Worker & { readonly kind: 'worker' },
    action: Action,
    also?: readonly PolicyLayer[],
  ): Promise<Judged>;
  permit(
    caller: Worker & { readonly kind: 'worker' },
    action: Action,
    options: PermitOptions,
  ): Promise<Permit>;
}

/** What is known here and not to whoever wants to do it. */
interface Place {
  /** The worktree; null: there is none. */
  readonly where: string | null;
  /** Whether a sandbox holds commands. */
  readonly confined: boolean;
}

/** For tools of the catalogue. File tools go through the door, which holds them whatever else does. */
export function toolPermits(
  permits: EnginePermits,
  { session, run, epoch }: Worker,
  placeOf: () => Promise<Place>,
): NonNullable<CallerWorld['permit']> {
  return async (wanted, { signal, patienceMs }) => {
    const { where, confined } = await placeOf();
    const action = boundTo({ ...wanted, held: confined || wanted.kind !== 'command' }, where);
    return permits.permit({ kind: 'worker', session, run, epoch }, action, { signal, patienceMs });
  };
}

/** Whoever sets it so is asked about everything an agent asks for. */
const EVERYTHING: PolicyLayer = {
  from: 'acp.permissions',
  preset: 'careful',
  rules: [{ tool: '*', verdict: 'ask' }],
};

/** For what agents do with their own tools. */
export function agentPermits(permits: EnginePermits, asksAll: boolean): AgentPermits {
  const also = asksAll ? [EVERYTHING] : [];
  const callerOf = ({ session, run, epoch }: StartSpec) => ({ kind: 'worker', session, run, epoch }) as const;
  const bound = (spec: StartSpec, action: AgentAction): Action =>
    boundTo(action, spec.workspace?.path ?? null);
  return {
    judge: async (spec, action) => (await permits.judge(callerOf(spec), bound(spec, action), also)).verdict,
    permit: (spec, action, signal) => permits.permit(callerOf(spec), bound(spec, action), { signal, also }),
  };
}

const LONGEST = { detail: 8_000, tool: 200 } as const;

/** With the place, and what tells it from any other: a leave is for this and nothing else. */
function boundTo(wanted: AgentAction, where: string | null): Action {
  const { tool, kind, command, paths, held, detail, input } = wanted;
  const digest = createHash('sha256')
    .update(JSON.stringify([tool, kind, command, paths, where, input]))
    .digest('hex');
  return {
    tool: tool.slice(0, LONGEST.tool),
    kind,
    command,
    paths: paths.map((path) => inside(path, where)),
    held,
    where,
    detail: detail.slice(0, LONGEST.detail),
    digest,
  };
}

/** From the root of the worktree, where rules begin too. */
function inside(path: string, where: string | null): string {
  if (where === null || !isAbsolute(path)) return path;
  const below = relative(where, path);
  return below.startsWith('..') || below === '' ? path : below;
}
