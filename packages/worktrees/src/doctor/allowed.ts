import type { Confinement } from '../sandbox/confinement.ts';
import { RESPONSE } from './scene.ts';

/** What must work inside: it does if it prints `WORKS`, or what the server it asks says. */
export interface Allowed {
  readonly name: string;
  readonly script: string;
  readonly changes?: Partial<Confinement>;
  readonly says?: string;
}

/** With the person's proxy or ours or none: whatever the environment says, as programs do. */
const fetchIt = (url: string): string =>
  `node -e 'fetch(process.argv[1]).then((answer) => answer.text()).then(console.log)' "${url}"`;

const NETWORKS: readonly Confinement['network'][] = [
  { kind: 'on' },
  { kind: 'off' },
  { kind: 'list', hosts: ['listed.test'] },
];

export const ALLOWED: readonly Allowed[] = [
  {
    name: 'write to the own tree',
    script:
      'echo x > new.txt && mkdir -p deep/er && mv new.txt deep/er/ && cat deep/er/new.txt && echo WORKS',
  },
  {
    name: 'commit',
    script:
      'echo x >> a.txt && git add -A && git commit -q -m work && git log --format=%s -1 | grep -qx work && echo WORKS',
  },
  {
    name: 'ask git for history, status and differences',
    script:
      'git log --format=%s | grep -qx first && git status --short && git diff HEAD --stat && git fsck --connectivity-only && echo WORKS',
  },
  {
    name: 'read the shared objects',
    script:
      'git show "HEAD:a.txt" > /dev/null && git cat-file --batch-all-objects --batch-check | grep -q blob && echo WORKS',
  },
  {
    name: 'branch, stash and reset',
    script:
      'git switch -q -c side && echo y >> a.txt && git stash -q && git stash pop -q && git reset -q --hard && git switch -q - && echo WORKS',
  },
  { name: 'run programs and tests', script: 'node --test test.mjs > /dev/null && node -e "1" && echo WORKS' },
  {
    name: 'use /tmp and the home',
    script:
      'echo x > /tmp/file && mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/file && mktemp > /dev/null && echo WORKS',
  },
  {
    name: 'refresh the agent’s credentials',
    script:
      'test "$(cat ~/.agent/token)" && echo new > ~/.agent/.aside && mv ~/.agent/.aside ~/.agent/token && grep -qx new ~/.agent/token && echo WORKS',
  },
  {
    name: 'read the tree without the right to write',
    script:
      'cat a.txt > /dev/null && git log -1 > /dev/null && git status > /dev/null && echo x > /tmp/note && echo WORKS',
    changes: { write: false },
  },
  ...NETWORKS.map((network) => ({
    name: `reach the daemon with the network ${network.kind}`,
    script: fetchIt('http://127.0.0.1:$DAEMON/'),
    changes: { network },
    says: RESPONSE.daemon,
  })),
];
