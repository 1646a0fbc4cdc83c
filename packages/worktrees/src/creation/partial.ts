import { git } from '../git/git.ts';
import type { FoundRepository } from '../repository.ts';

/** What a transport needs of the person's session. */
const SESSION = ['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'];
const TRANSPORTS = ['https', 'http', 'ssh', 'git', 'file'].join(':');

/**
 * A partial clone has not fetched all objects. Those of the commit are fetched before it is checked out, with the
 * person's own config, the way git itself would in the middle of a checkout.
 */
export async function fetchMissing(
  repository: FoundRepository,
  commit: string,
  signal?: AbortSignal,
): Promise<void> {
  const { gitDir, traits } = repository;
  if (traits.promisor === null) return;
  const aborting = signal ? { signal } : {};
  const listed = await git({
    gitDir,
    args: ['rev-list', '--objects', '--no-walk', '--missing=print', commit],
    ...aborting,
  });
  const missing = listed.stdout.split('\n').filter((line) => line.startsWith('?'));
  if (missing.length === 0) return;
  await git({
    gitDir,
    asPerson: true,
    args: [
      '-c',
      'fetch.negotiationAlgorithm=noop',
      'fetch',
      '--no-tags',
      '--no-write-fetch-head',
      '--recurse-submodules=no',
      '--filter=blob:none',
      '--stdin',
      '--',
      traits.promisor,
    ],
    input: missing.map((line) => `${line.slice(1)}\n`).join(''),
    env: {
      ...Object.fromEntries(SESSION.flatMap((key) => (process.env[key] ? [[key, process.env[key]]] : []))),
      GIT_ALLOW_PROTOCOL: TRANSPORTS,
    },
    ...aborting,
  });
}
