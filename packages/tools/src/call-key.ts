import { createHash } from 'node:crypto';
import type { ToolWorld } from '@reveille/protocol';

/** A name of bounded length that no caller would choose. */
export function callKey({ callId }: Pick<ToolWorld, 'callId'>, part = ''): string | undefined {
  if (callId === null) return undefined;
  return `call:${createHash('sha256').update(callId).digest('base64url')}${part}`;
}
