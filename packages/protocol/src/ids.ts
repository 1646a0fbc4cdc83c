import { z } from 'zod';

/**
 * One id type per noun. The prefix is part of the type, so that the compiler refuses a task id where
 * a run id is meant, and part of the value, so that a reader of a log can tell them apart.
 */
const PREFIXES = ['plan', 'task', 'run', 'session', 'msg', 'req', 'call'] as const;
export type IdPrefix = (typeof PREFIXES)[number];
export type Id<P extends IdPrefix> = `${P}_${string}`;

export type PlanId = Id<'plan'>;
export type TaskId = Id<'task'>;
export type RunId = Id<'run'>;
export type SessionId = Id<'session'>;
export type MessageId = Id<'msg'>;
export type RequestId = Id<'req'>;
export type CallId = Id<'call'>;

const idSchema = <P extends IdPrefix>(prefix: P) =>
  z.custom<Id<P>>((value) => typeof value === 'string' && isId(prefix, value), {
    error: (issue) => `expected an id like "${prefix}_…", got ${describe(issue.input)}`,
  });

export const PlanId = idSchema('plan');
export const TaskId = idSchema('task');
export const RunId = idSchema('run');
export const SessionId = idSchema('session');
export const MessageId = idSchema('msg');
export const RequestId = idSchema('req');
export const CallId = idSchema('call');

export function isId<P extends IdPrefix>(prefix: P, value: string): value is Id<P> {
  return value.length <= 64 && value.startsWith(`${prefix}_`) && /^[a-z]+_[0-9a-z]+$/.test(value);
}

function describe(input: unknown): string {
  if (typeof input !== 'string') return typeof input;
  return JSON.stringify(input.length > 40 ? `${input.slice(0, 40)}…` : input);
}
