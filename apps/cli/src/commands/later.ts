import { UsageError } from '../usage.ts';
import { command } from '../command/spec.ts';

/** Verbs that people will look for, until they are there. */
const later = (name: string, summary: string, instead: string) =>
  command({
    name,
    group: 'Not yet',
    summary,
    usage: '[…]',
    about: '',
    options: {},
    json: '{ error }',
    run: () =>
      Promise.reject(new UsageError(`\`reveille ${name}\` comes in a later version; ${instead}.`, null)),
  });

export const laterCommands = [
  later('swap', 'gives a task to another agent', 'use `reveille cancel` and `reveille spawn --agent`'),
];
