import { PRESETS, custom, findProgram, type Preset } from '@reveille/executors/acp';
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

/** Whether its program is there. A custom one was configured on purpose: that it is missing is told when it is used. */
export function isThere({ preset, configured }: AcpBackend, { acp }: Config, path: string): boolean {
  if (preset.name in acp.custom) return true;
  const names = configured.program === null ? preset.programs : [configured.program];
  return findProgram(names, path) !== null;
}
