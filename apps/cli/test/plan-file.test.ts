import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checkPlanText, type CheckOptions } from '../src/plan-file/check.ts';
import { problemLine } from '../src/plan-file/problems.ts';
import { planJsonSchema } from '../src/plan-file/schema.ts';

const KNOWN = {
  agents: ['agent', 'coder', 'reviewer'].map((name) => ({ name, backend: null })),
  untrusted: ['mine'],
  backends: null,
};

const check = (text: string, options: Partial<CheckOptions> = {}) =>
  checkPlanText(text, { file: 'plan.yaml', known: KNOWN, given: {}, ...options });

function problems(text: string, options: Partial<CheckOptions> = {}): string[] {
  const checked = check(text, options);
  return 'problems' in checked ? checked.problems.map(problemLine) : [];
}

function plan(text: string, options: Partial<CheckOptions> = {}) {
  const checked = check(text, options);
  if ('problems' in checked) throw new Error(checked.problems.map(problemLine).join('\n'));
  return checked;
}

const TASK = 'tasks:\n  - id: a\n    prompt: Do.\n';

test('[PLN1.20][PLN1.21] everything that is wrong is said at once, with line and column', () => {
  const text = `nme: Bad
inputs:
  version: 1
  2nd: x
defaults:
  agent: codr
  modle: x
tasks:
  - id: a
    prompt: Do.
    dependencies: [b, c]
  - id: b
    promt: Do.
    dependencies: [a]
    priority: urgent
  - id: b
    prompt: 5
    agent: claude:reviewr
    budget: { usd: -1, dollars: 3 }
  - id: e
    prompt: Do.
    agent: mine
`;
  expect(problems(text)).toEqual([
    'plan.yaml:1:1: name: it is missing',
    'plan.yaml:1:1: nme: there is no such key; there is name, budget, inputs',
    'plan.yaml:4:3: inputs.2nd: it must be a letter, then letters, digits, "-" or "_"',
    'plan.yaml:6:10: defaults.agent: there is no agent "codr"; there are: coder, agent, reviewer',
    'plan.yaml:7:3: defaults.modle: there is no such key; there is model, budget, agent',
    'plan.yaml:9:5: tasks[0]: cycle: a → b → a',
    'plan.yaml:11:23: tasks[0].dependencies[1]: there is no task "c" in this plan; did you mean "a", "b", "e"?',
    'plan.yaml:12:5: tasks[1].prompt: it is missing',
    'plan.yaml:13:5: tasks[1].promt: there is no such key; there is prompt, agent, name',
    'plan.yaml:15:15: tasks[1].priority: expected one of "critical"|"high"|"normal"|"low"',
    'plan.yaml:16:9: tasks[2].id: "b" is also the id of tasks[1]',
    'plan.yaml:17:13: tasks[2].prompt: expected a text, not a number',
    'plan.yaml:18:12: tasks[2].agent: there is no agent "reviewr"; there are: reviewer, coder, agent',
    'plan.yaml:19:20: tasks[2].budget.usd: it must be at least 0',
    'plan.yaml:19:24: tasks[2].budget.dollars: there is no such key; there is wallMs, tokens, spawns',
    'plan.yaml:22:12: tasks[3].agent: the agent "mine" of this repository is not trusted yet: reveille init',
  ]);
});

test.each([
  ['', 'plan.yaml:1:1: this is no plan: it needs `name:` and `tasks:`'],
  ['- a\n- b\n', 'plan.yaml:1:1: this is no plan: it needs `name:` and `tasks:`'],
  [`name: A\nname: B\n${TASK}`, 'plan.yaml:2:1: Map keys must be unique'],
  [
    'name: [a\ntasks: x',
    'plan.yaml:2:1: Flow sequence in block collection must be sufficiently indented and end with a ]',
  ],
  ['name: A\ntasks:\n\t- id: a\n', 'plan.yaml:3:1: Tabs are not allowed as indentation'],
  ['name: A\ntasks: []\n', 'plan.yaml:2:8: tasks: it needs at least 1'],
  ['name: A\ntasks:\n', 'plan.yaml:2:7: tasks: expected a list, not nothing'],
  [
    `name: A\n${TASK}---\nname: B\n`,
    'plan.yaml:5:1: there is a second document here; a plan is a file of its own',
  ],
  [
    `name: A\nrepository: /etc\n${TASK}`,
    'plan.yaml:2:1: repository: there is no such key; there is verify, defaults, description',
  ],
])('[PLN1.21] %j is not a plan', (text, sentence) => {
  expect(problems(text)).toContain(sentence);
});

test('[PLN1.21] a backend that cannot be used is said so, with what to do; where nothing is known of them, any may', () => {
  const text = `name: A\n${TASK}    agent: claud:coder\n`;
  expect(problems(text)).toEqual([]);
  const backends = ['claude', 'scripted'].map((name, i) => ({ name, isDefault: i === 0 }));
  const problem = (name: string) => (name === 'gemini' ? 'Gemini CLI is not installed' : undefined);
  const known = { ...KNOWN, backends: { backends, problem } };
  expect(problems(text, { known })).toEqual([
    'plan.yaml:5:12: tasks[0].agent: there is no backend "claud"; there are: claude, scripted',
  ]);
  expect(problems(`name: A\n${TASK}`, { known })).toEqual([]);
  expect(problems(`name: A\n${TASK}    agent: gemini:coder\n`, { known })).toEqual([
    'plan.yaml:5:12: tasks[0].agent: the backend "gemini" cannot be used here: Gemini CLI is not installed; there are: claude, scripted',
  ]);
  const agents = [{ name: 'coder', backend: 'gemini' }];
  expect(problems(`name: A\n${TASK}    agent: coder\n`, { known: { ...known, agents } })).toEqual([
    'plan.yaml:5:12: tasks[0].agent: agent "coder" runs on the backend "gemini" by its definition, which is not here (Gemini CLI is not installed); there are: claude, scripted. Name another: claude:coder',
  ]);
});

test('[AGT2.10] a scripted agent without a script is a problem of its line, and so is its reviewer', () => {
  const backends = ['scripted', 'codex'].map((name, i) => ({ name, isDefault: i === 0 }));
  const known = { ...KNOWN, backends: { backends, problem: () => undefined } };
  const found = problems(`name: A\n${TASK}    review: scripted:reviewer\n`, { known });
  expect(found).toEqual([
    expect.stringMatching(/tasks\[0\]\.agent: @scripted:agent cannot do this: .*there are: codex:agent$/),
    expect.stringMatching(
      /tasks\[0\]\.review: .*@scripted:reviewer cannot do this: .*`review` in the script/,
    ),
  ]);
  const none = { ...known, backends: { backends: backends.slice(0, 1), problem: () => undefined } };
  expect(problems(`name: A\n${TASK}`, { known: none })).toEqual([
    expect.stringContaining('no other backend is installed, and `reveille doctor` says how to get one'),
  ]);
});

test('[PLN1.22] an input is put into texts as data: it is not looked at again, and in a script it stays a string', () => {
  const text = `name: Release \${{ inputs.version }}
inputs: { version: 2.4, who: , also: { default: true } }
tasks:
  - id: a
    targetFiles: ["docs/\${{inputs.version}}.md"]
    prompt: |
      For \${{ inputs.who }}, \${{ inputs.also }}; $\${{ inputs.who }} stays.

      \`\`\`reveille-script
      { "steps": [{ "do": "report", "output": "\${{ inputs.who }}" }] }
      \`\`\`
`;
  const who = '"quoted"\nprompt: ${{ inputs.version }}';
  const made = plan(text, { given: { who } }).plan;
  expect(made.name).toBe('Release 2.4');
  const [task] = made.tasks;
  expect(task?.targetFiles).toEqual(['docs/2.4.md']);
  expect(task?.prompt).toContain(`For ${who}, true; \${{ inputs.who }} stays.`);
  const script = /```reveille-script\n(.*)\n```/.exec(task?.prompt ?? '')?.[1] ?? '';
  expect(JSON.parse(script)).toEqual({ steps: [{ do: 'report', output: who }] });
});

test('[PLN1.22] an input stands in no command, and in nothing that decides how a task runs', () => {
  const text = `name: A
inputs: { x: y }
verify: "echo \${{ inputs.x }}"
tasks:
  - id: "\${{ inputs.x }}"
    prompt: Do.
    agent: \${{ inputs.x }}
`;
  const here = problems(text).filter((line) => line.endsWith('no input can be put in here'));
  expect(here).toEqual([
    'plan.yaml:3:15: verify: no input can be put in here',
    'plan.yaml:5:10: tasks[0].id: no input can be put in here',
    'plan.yaml:7:12: tasks[0].agent: no input can be put in here',
  ]);
});

test('[PLN1.22] an input that is misspelt is named with its own line, also inside a long text', () => {
  const text = `name: A
inputs: { version: 1 }
tasks:
  - id: a
    prompt: |
      First \${{ inputs.version }},
      then \${{ inputs.vers }},
      then \${{ env.HOME }}.
`;
  expect(problems(text)).toEqual([
    'plan.yaml:7:12: tasks[0].prompt: there is no input "vers"; there is version',
    'plan.yaml:8:12: tasks[0].prompt: "${{ env.HOME }}" is not understood; write ${{ inputs.name }}, or $${{ for the characters themselves',
  ]);
});

test('[PLN1.23] what has to be given is asked for with what it is for; what is not asked for is refused', () => {
  const text = `name: A\ninputs:\n  version: { description: what is released }\n  who:\n${TASK}`;
  expect(problems(text, { given: { verison: '1' } })).toEqual([
    'plan.yaml:2:1: inputs: --input verison: the plan has no such input; there is version',
    'plan.yaml:3:3: inputs.version: it has to be given (what is released): --input version=…',
    'plan.yaml:4:3: inputs.who: it has to be given: --input who=…',
  ]);
  expect(problems(text, { given: { version: '', who: 'x' } })).toEqual([]);
  // Who only looks at a plan need not give anything.
  expect(problems(text, { given: null })).toEqual([]);
});

test('[PLN1.24] defaults hold for every task that does not say it itself', () => {
  const text = `name: A
defaults: { agent: coder, model: small, priority: low, review: person, budget: { usd: 1 } }
tasks:
  - { id: a, prompt: Do. }
  - { id: b, prompt: Do., agent: reviewer, priority: high, budget: { turns: 3 } }
`;
  expect(plan(text).plan).toEqual({
    name: 'A',
    tasks: [
      {
        id: 'a',
        prompt: 'Do.',
        agent: 'coder',
        model: 'small',
        priority: 'low',
        review: 'person',
        budget: { usd: 1 },
      },
      {
        id: 'b',
        prompt: 'Do.',
        agent: 'reviewer',
        model: 'small',
        priority: 'high',
        review: 'person',
        budget: { turns: 3 },
      },
    ],
  });
  const wrong = `name: A\ndefaults:\n  agent: nobody\ntasks:\n  - { id: a, prompt: Do. }\n  - { id: b, prompt: Do. }\n`;
  expect(problems(wrong)).toEqual([
    'plan.yaml:3:10: defaults.agent: there is no agent "nobody"; there are: coder, agent, reviewer',
  ]);
});

test('[PLN1.25] what is made to do harm is a problem with a place', () => {
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
d: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
${TASK}`;
  expect(problems(bomb)).toEqual([
    'plan.yaml:1:1: Excessive alias count indicates a resource exhaustion attack',
  ]);
  expect(problems(`name: A\nx: ${'['.repeat(1_000_000)}`)).toEqual([
    'plan.yaml:2:504: it is nested too deep',
  ]);
  expect(problems(`name: A\n${'- '.repeat(1_000_000)}`)).toEqual(['plan.yaml:2:1: it is nested too deep']);
  expect(problems(`tasks:\n${'{'.repeat(400)}`).length).toBeGreaterThan(0);
  expect(problems(`name: !!js/function "x"\n${TASK}`)).toEqual([
    'plan.yaml:1:7: Unresolved tag: tag:yaml.org,2002:js/function',
  ]);
  expect(problems(`name: !env HOME\n${TASK}`)).toEqual(['plan.yaml:1:7: Unresolved tag: !env']);
  expect(problems(`name: A\n? [complex, key]\n: x\n${TASK}`)[0]).toMatch(/^plan\.yaml:2:3: /);
  expect(problems(`name: A\n__proto__: { polluted: 1 }\n${TASK}`)[0]).toContain('there is no such key');
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

test('[PLN1.25] an alias that is used sparingly is what it stands for', () => {
  const text = `name: A\ntasks:\n  - { id: a, prompt: &p Do. }\n  - { id: b, prompt: *p }\n`;
  expect(plan(text).plan.tasks.map(({ prompt }) => prompt)).toEqual(['Do.', 'Do.']);
});

test('[PLN1.26] the schema that editors use is the one that is checked with', () => {
  const file = new URL('../../../examples/plan.schema.json', import.meta.url);
  // To write it anew: npm run generate -w apps/cli
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(planJsonSchema());
});

test('[PLN1.27] what the engine finds is said with its line', () => {
  const { locate } = plan(`name: A\ndefaults:\n  agent: coder\n${TASK}`);
  expect(
    locate([
      { at: 'tasks[0].agent', problem: 'no such thing' },
      { at: 'plan', problem: 'no' },
    ]).map(problemLine),
  ).toEqual(['plan.yaml:1:1: no', 'plan.yaml:3:10: defaults.agent: no such thing']);
});

test('[PLN1.28] the examples have no problem', () => {
  const folder = fileURLToPath(new URL('../../../examples', import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  expect(files.length).toBeGreaterThanOrEqual(4);
  const agents = ['agent', 'coder', 'product', 'reviewer', 'tester'].map((name) => ({ name, backend: null }));
  const backends = ['scripted', 'claude', 'codex', 'gemini', 'copilot', 'opencode'].map((name, i) => ({
    name,
    isDefault: i === 0,
  }));
  const known = { agents, untrusted: [], backends: { backends, problem: () => undefined } };
  for (const file of files)
    expect(problems(readFileSync(`${folder}/${file}`, 'utf8'), { file, known, given: null })).toEqual([]);
});
