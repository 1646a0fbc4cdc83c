import { PolicyRules } from '@reveille/protocol';
import { choice, group } from './kinds.ts';

export const Approvals = group(
  {
    preset: choice(
      ['careful', 'normal', 'trusting'],
      'normal',
      'What no rule decides. careful: reading is free, the rest is asked. normal: what the sandbox or the door to the files holds is free, the rest is asked. trusting: everything is free.',
    ),
    rules: PolicyRules.default([]).describe(
      'In order, the first that applies decides: {"command": "git push*", "verdict": "ask"}. Conditions: tool, command, path, agent, aboveUsd.',
    ),
  },
  'What agents may do without asking.',
);
