import { withScript, type Step, type WrittenScript } from '@reveille/executors';
import type { PlanInput } from '@reveille/protocol';

/** What the owner of the plan says when it is asked, and how long it thinks first. */
export interface Owner {
  readonly answer: string;
  readonly afterMs: number;
}

type Act = (ms: number) => Step;
const work: Act = (ms) => ({ do: 'work', ms });
const say = (text: string): Step => ({ do: 'say', text });
const edit = (path: string, content: string): Step => ({ do: 'edit', path, content });
const report = (output: string): Step => ({ do: 'report', output });
const proof = (name: string): Step => edit(`test/${name}.test.ts`, `// What is proven: ${name}.\n`);

/** A task of the plan, and what its agent does. */
export interface Chapter {
  readonly id: string;
  readonly agent: string;
  readonly dependencies: string[];
  readonly prompt: string;
  readonly script: WrittenScript;
}

/**
 * A plan that a small team could have: rate limiting for an API. Nobody thinks in it: every agent follows a script.
 * What is real is everything else: the plan, its order, the subtasks, the failure, the question, the wake-ups.
 */
export function story(speed: number): { plan: PlanInput; owner: Owner } {
  return tell(speed, ({ script, prompt, ...task }) => ({ ...task, prompt: withScript(prompt, script) }));
}

/** The story, with its tasks as `write` writes them down. */
export function tell(
  speed: number,
  write: (chapter: Chapter) => PlanInput['tasks'][number],
): { plan: PlanInput; owner: Owner } {
  const tasks = CHAPTERS().map((chapter) => write({ ...chapter, script: hasten(chapter.script, speed) }));
  const plan = { name: 'Rate limiting for the orders API', verify: 'sh check.sh', tasks };
  return { plan, owner: { answer: 'refuse at once', afterMs: 1_600 / speed } };
}

const chapter = (
  id: string,
  agent: string,
  dependencies: string[],
  prompt: string,
  script: WrittenScript,
): Chapter => ({ id, agent, dependencies, prompt, script });

/** A function, because it stands before what the agents do. */
const CHAPTERS = (): Chapter[] => [
  chapter('design', 'architect', [], 'Decide how requests to the orders API are limited.', DESIGN),
  chapter('bucket', 'coder', ['design'], 'Write the token bucket.', BUCKET),
  chapter('storage', 'coder', ['design'], 'Keep the buckets where all instances see them.', STORAGE),
  chapter('middleware', 'coder', ['design'], 'Refuse requests over the limit.', MIDDLEWARE),
  chapter('docs', 'product', ['design'], 'Describe the limits for the people who call the API.', DOCS),
  chapter('tests', 'tester', ['bucket', 'storage', 'middleware'], 'Prove that the limits hold.', TESTS),
  chapter('review', 'reviewer', ['tests', 'docs'], 'Review the change as a whole.', REVIEW),
  chapter('release', 'product', ['review'], 'Write the release notes.', RELEASE),
];

const DESIGN: WrittenScript = {
  steps: [
    say('Reading src/server.ts and the gateway config'),
    work(900),
    say('Comparing token bucket and sliding window'),
    work(900),
    edit(
      'docs/rate-limits.md',
      '# Rate limits\n\nA token bucket per API key: 100 per minute, bursts of 20.\n',
    ),
    report('Token bucket per API key: 100 per minute, bursts of 20'),
  ],
};

const BUCKET: WrittenScript = {
  steps: [
    say('Writing src/limits/bucket.ts'),
    work(1_300),
    edit(
      'src/limits/bucket.ts',
      'export const refill = (tokens: number, ms: number): number => Math.min(20, tokens + ms / 600);\n',
    ),
    say('Refill is computed on read, no timer needed'),
    work(900),
    report('bucket.ts: refill on read, 64 lines'),
  ],
};

const STORAGE: WrittenScript = {
  steps: [
    say('Adding a table for buckets'),
    work(1_200),
    edit(
      'src/limits/storage.ts',
      "export const take = 'UPDATE buckets SET tokens = tokens - 1 RETURNING tokens';\n",
    ),
    say('Updating a bucket in one statement'),
    work(1_500),
    report('storage.ts: one UPDATE … RETURNING per request'),
  ],
};

const MIDDLEWARE: WrittenScript = {
  steps: [
    say('Hooking the limiter in before the routes'),
    work(1_000),
    {
      do: 'ask',
      text: 'Over the limit: refuse at once, or queue for a second?',
      options: ['refuse at once', 'queue'],
    },
    say('Answering 429 with Retry-After'),
    work(1_100),
    edit(
      'src/limits/middleware.ts',
      "export const refusal = { status: 429, headers: { 'retry-after': '1' } };\n",
    ),
    report('middleware.ts: 429 at once, with Retry-After'),
  ],
};

const DOCS: WrittenScript = {
  steps: [
    say('Drafting docs/api/limits.md'),
    work(2_400),
    edit(
      'docs/api/limits.md',
      '# Limits\n\n100 requests per minute. On 429, wait as long as Retry-After says.\n',
    ),
    report('limits.md: the limits, and what to do on 429'),
  ],
};

/** Fans out. When it is woken by a failure it tries that subtask again; it reports when all four have ended well. */
const TESTS: WrittenScript = {
  steps: [
    say('Splitting the work: unit, burst, clock skew, load'),
    work(700),
    {
      do: 'spawn',
      tasks: [
        child('unit', [say('31 cases for the bucket'), work(1_500), proof('unit'), report('31 of 31 pass')]),
        child('burst', [
          say('20 at once, then the 21st'),
          work(2_300),
          proof('burst'),
          report('the 21st is refused, as it should be'),
        ]),
        child('clock skew', [
          { do: 'say', text: 'Setting the clock back by 2 s', attempt: 1 },
          { do: 'work', ms: 1_800, attempt: 1 },
          {
            do: 'fail',
            class: 'invalid',
            message: 'a bucket went negative after the clock was set back',
            attempt: 1,
          },
          say('Again, with a monotonic clock'),
          work(1_400),
          proof('clock-skew'),
          report('no bucket goes negative any more'),
        ]),
        child('load', [
          say('5,000 requests per second'),
          work(3_000),
          proof('load'),
          report('p99 0.8 ms more than before'),
        ]),
      ],
    },
  ],
  whenWoken: [
    { do: 'retry', say: 'A subtask failed: setting it right, then trying again', afterMs: 1_300 },
    { do: 'pull' },
    { do: 'report', output: '4 of 4 hold; clock skew only at the second attempt' },
  ],
};

const REVIEW: WrittenScript = {
  steps: [
    say('Reading 5 changed files'),
    work(1_000),
    say('Checking that 429 carries Retry-After everywhere'),
    work(800),
    report('Approved: small, tested, documented'),
  ],
};

const RELEASE: WrittenScript = {
  steps: [
    say('Summing up what callers will notice'),
    work(1_200),
    edit(
      'CHANGELOG.md',
      '# Changelog\n\n## 2.4.0\n- Requests are limited per API key.\n\n## 2.3.0\n- Orders can be cancelled.\n',
    ),
    report('Notes for 2.4.0 are in CHANGELOG.md'),
  ],
};

function child(name: string, steps: Step[]) {
  return {
    name,
    agentType: 'tester',
    prompt: `Test the rate limits: ${name}.`,
    targetFiles: [],
    script: { steps },
  };
}

/** The same script in less time. */
function hasten(script: WrittenScript, speed: number): WrittenScript {
  // Scripts are plain data, so a copy through JSON can change every duration in it, however deep.
  const faster = (key: string, value: unknown): unknown =>
    (key === 'ms' || key === 'afterMs') && typeof value === 'number' ? Math.round(value / speed) : value;
  return JSON.parse(JSON.stringify(script), faster) as WrittenScript;
}
