import type { TranscriptEntry } from '@reveille/protocol';

export interface ToolUse {
  readonly n: number;
  readonly text: string;
  readonly files: string[];
  state: 'open' | 'done' | 'failed';
}

export type Block =
  | {
      readonly kind: 'given' | 'said' | 'thought';
      readonly n: number;
      readonly at: number;
      readonly text: string;
    }
  | { readonly kind: 'tools'; readonly n: number; readonly at: number; readonly uses: ToolUse[] }
  | {
      readonly kind: 'note';
      readonly n: number;
      readonly at: number;
      readonly text: string;
      readonly failed: boolean;
    };

/** Calls of tools that come one after another are one block, each with its end; the rest stands for itself. */
export function blocksOf(entries: readonly TranscriptEntry[]): Block[] {
  const blocks: Block[] = [];
  const open = new Map<string, ToolUse>();
  for (const entry of entries) {
    const { kind, n, at, text, id = '' } = entry;
    const last = blocks.at(-1);
    switch (kind) {
      case 'tool': {
        const use: ToolUse = { n, text, files: [], state: 'open' };
        open.set(id, use);
        if (last?.kind === 'tools') last.uses.push(use);
        else blocks.push({ kind: 'tools', n, at, uses: [use] });
        break;
      }
      case 'tool_end': {
        const use = open.get(id);
        if (use) use.state = entry.failed ? 'failed' : 'done';
        break;
      }
      case 'file': {
        const use = last?.kind === 'tools' ? last.uses.at(-1) : undefined;
        if (use) use.files.push(text);
        else blocks.push({ kind: 'note', n, at, text: `changed ${text}`, failed: false });
        break;
      }
      case 'asked':
        blocks.push({ kind: 'note', n, at, text: `wants leave: ${text}`, failed: false });
        break;
      case 'note':
        blocks.push({ kind: 'note', n, at, text, failed: entry.failed ?? false });
        break;
      case 'given':
      case 'said':
      case 'thought':
        blocks.push({ kind, n, at, text });
        break;
      default:
        kind satisfies never;
    }
  }
  return blocks;
}
