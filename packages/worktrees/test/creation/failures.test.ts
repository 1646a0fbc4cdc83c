import { isScarce } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { workspaceError } from '../../src/creation/failures.ts';
import { translate } from '../../src/door/refusal.ts';
import { GitError } from '../../src/git/git.ts';

test.each([
  [
    `fatal: prepare: cannot update ref 'refs/heads/t': couldn't write '/r/.git/refs/heads/t.lock'`,
    'disk_full',
  ],
  ['error: unable to write file x: No space left on device', 'disk_full'],
  ['fatal: cannot create thread: Resource temporarily unavailable', 'exhausted'],
])('[WKT1.13] what git says of a machine without room is told as that: %s', (stderr, reason) => {
  const told = workspaceError('It', new GitError(['update-ref'], 128, stderr));
  expect(told).toMatchObject({ code: 'workspace_failed', data: { reason, scarce: true } });
});

test.each(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM', 'ENOSPC'])(
  '[WKT1.13] a file that the door cannot open or write for %s may be reached later',
  (code) => {
    expect(isScarce(translate(Object.assign(new Error(code), { code }), 'a.txt'))).toBe(true);
  },
);
