import { ReveilleError, isGranted, nearest, type CallerWorld } from '@reveille/protocol';
import { TOOLS } from './catalogue.ts';
import type { Tool } from './tool.ts';

type Who = Pick<CallerWorld, 'caller' | 'grants' | 'workspace' | 'navigation'>;

/**
 * The tools of a caller: exactly what its definition allows, and what every worker needs (AGT4). `*` does not hold the
 * orchestrator's tools: whoever is to have them names them. Without a definition a caller has what its kind may use.
 */
export function toolsFor(world: Who): readonly Tool[] {
  return TOOLS.filter((tool) => isFor(tool, world));
}

function isFor(tool: Tool, { caller, grants, workspace, navigation }: Who): boolean {
  if (!tool.callers.includes(caller.kind)) return false;
  if (tool.needs !== null && workspace === null) return false;
  if (tool.needs === 'navigation' && !navigation) return false;
  return grants === null || tool.always.includes(caller.kind) || isGranted(grants, tool.name);
}

/** The tool of that name, or an error that says which ones the caller has. */
export function toolNamed(name: string, world: Who): Tool {
  const own = toolsFor(world);
  const tool = own.find((candidate) => candidate.name === name);
  if (tool) return tool;
  const names = own.map((candidate) => candidate.name);
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  const near = nearest(name, names).slice(0, 5);
  if (isTool(name))
    throw new ReveilleError('not_allowed', `You may not use ${name}. What you have: ${names.join(', ')}.`, {
      data: { tool: name },
    });
  throw new ReveilleError(
    'not_found',
    `There is no tool ${shown}. The nearest you have: ${near.join(', ')}.`,
    {
      data: { tool: name.slice(0, 80), nearest: near },
    },
  );
}

export const isTool = (name: string): boolean => TOOLS.some((tool) => tool.name === name);
