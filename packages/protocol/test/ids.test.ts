import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessageId, PlanId, RequestId, RunId, SessionId, TaskId, isId } from '@reveille/protocol';

const SCHEMAS = {
  plan: PlanId,
  task: TaskId,
  run: RunId,
  session: SessionId,
  msg: MessageId,
  req: RequestId,
} as const;
type Prefix = keyof typeof SCHEMAS;
const PREFIXES = Object.keys(SCHEMAS) as Prefix[];
const body = fc.stringMatching(/^[0-9a-z]{1,40}$/);

test('[ID1] an id is taken where its noun is meant and nowhere else', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PREFIXES), fc.constantFrom(...PREFIXES), body, (meant, given, name) => {
      expect(SCHEMAS[meant].safeParse(`${given}_${name}`).success).toBe(meant === given);
    }),
  );
});

test('[ID1] what is no id is refused, and the refusal says what was expected without repeating all of it', () => {
  const wrong = [
    '',
    'task',
    'task_',
    'task_A',
    'task_a b',
    'task_a\n',
    ' task_a',
    `task_${'a'.repeat(60)}`,
    'x'.repeat(1e7),
    null,
    undefined,
    7,
    {},
  ];
  for (const value of wrong) {
    const parsed = TaskId.safeParse(value);
    expect(parsed.success).toBe(false);
    const message = parsed.error?.issues[0]?.message ?? '';
    expect(message).toContain('"task_…"');
    expect(message.length).toBeLessThan(120);
  }
});

test('[ID1] any string: isId and the schema agree', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        body.map((name) => `run_${name}`),
      ),
      (value) => {
        expect(RunId.safeParse(value).success).toBe(isId('run', value));
      },
    ),
  );
});
