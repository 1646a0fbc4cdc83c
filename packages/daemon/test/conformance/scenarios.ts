import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

const require = createRequire(import.meta.url);
const folder = dirname(dirname(require.resolve('@modelcontextprotocol/conformance/dist/index.js')));

/** The program of the suite. */
export const SUITE = join(folder, 'dist/index.js');

/** What it runs unless told otherwise, over the 2025 era of the protocol. */
export const ACTIVE = [
  'server-initialize',
  'server-session-lifecycle',
  'logging-set-level',
  'ping',
  'completion-complete',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-with-logging',
  'tools-call-error',
  'tools-call-with-progress',
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'server-sse-multiple-streams',
  'elicitation-sep1330-enums',
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'resources-subscribe',
  'resources-unsubscribe',
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
  'dns-rebinding-protection',
] as const;

interface NotScored {
  readonly scenario: string;
  readonly leg: 'server' | 'client';
  readonly reason: string;
}
const required = parse(readFileSync(join(folder, 'requirements/2026-07-28.yaml'), 'utf8')) as {
  readonly server: readonly string[];
  readonly not_scored: readonly NotScored[];
};

/** What the revision of 2026-07-28 demands of a server. */
export const REQUIRED = required.server;

/** What is run with it and does not count, each with the reason the suite gives. */
export const NOT_SCORED = required.not_scored.filter(({ leg }) => leg === 'server');

/** They want tools of the suite's own that are run as tasks; ours are the children of a spawn, and nothing else (see the decision). */
export const isOfTasks = (scenario: string): boolean => scenario.startsWith('tasks-');
