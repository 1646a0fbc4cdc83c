import { PRESETS, custom, findProgram, type Preset } from '@reveille/executors/acp';
import { CLAUDE, SDK_PACKAGE, bundledProgram, sdkFile } from '@reveille/executors/claude';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';

/** An agent that speaks the protocol, and what was configured for it. */
export interface AcpBackend {
  readonly preset: Preset;
  readonly configured: {
    readonly program: string | null;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly hosts: readonly string[];
    readonly reads: readonly string[];
    readonly writes: readonly string[];
  };
}

/** All that could be run: those we know, and those that were configured. */
export function acpBackends({ acp }: Config): readonly AcpBackend[] {
  const { codex, gemini, copilot, opencode } = acp;
  const known: Readonly<Record<string, AcpBackend['configured']>> = { codex, gemini, copilot, opencode };
  const presets = PRESETS.flatMap((preset) => {
    const configured = known[preset.name];
    return configured ? [{ preset, configured }] : [];
  });
  const customs = Object.entries(acp.custom).map(([name, { command, ...rest }]) => {
    const [program = '', ...args] = command;
    return { preset: custom(name, program, args), configured: { program: null, ...rest } };
  });
  return [...presets, ...customs];
}

/** Where the SDK of an agent can be put, beside where our own packages would find it. */
export const sdkFolder = (home: string): string => join(home, 'sdk');

/** Claude Code: the person's own, or the one that came with its SDK. */
export function claudeBackend({ backends: { claude } }: Config, home: string, path: string): AcpBackend {
  const own = claude.program ?? findProgram(CLAUDE.programs, path);
  const program = own ?? bundledProgram(sdkFolder(home));
  return { preset: CLAUDE, configured: { ...claude, program } };
}

/** Claude Code needs its SDK beside it. */
export const hasClaude = ({ configured }: AcpBackend, home: string): boolean =>
  configured.program !== null && sdkFile(sdkFolder(home)) !== null;

/** Which half of it is missing, and how to get that; undefined: neither. */
export function missingClaude({ configured }: AcpBackend, home: string): string | undefined {
  if (sdkFile(sdkFolder(home)) === null)
    return `the Agent SDK of Claude Code is not installed. To install it: ${installClaude(home)}`;
  return configured.program === null
    ? `Claude Code is not installed. To install it: ${CLAUDE.install}`
    : undefined;
}

/** The line that installs the SDK, which brings a Claude Code along. */
export const installClaude = (home: string): string =>
  `npm install --prefix ${sdkFolder(home)} ${SDK_PACKAGE}`;

/** Whether its program is there. A custom one was configured on purpose: that it is missing is told when it is used. */
export function isThere({ preset, configured }: AcpBackend, { acp }: Config, path: string): boolean {
  if (preset.name in acp.custom) return true;
  const names = configured.program === null ? preset.programs : [configured.program];
  return findProgram(names, path) !== null;
}
