import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { catalogue, type Catalogue, type CatalogueOptions } from '@reveille/agents';

/** A repository and a home of one test's own, with a catalogue of them that looks again at every question. */
export interface Place extends Disposable {
  readonly root: string;
  readonly repository: string;
  readonly home: string;
  readonly agents: Catalogue;
  /** Writes a file below the root (`repository/.claude/agents/x.md`) and returns its path. */
  write(path: string, ...lines: string[]): string;
  remove(path: string): void;
}

export function place(options: Partial<CatalogueOptions> = {}): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-agents-')));
  const repository = join(root, 'repository');
  const home = join(root, 'home');
  mkdirSync(repository);
  mkdirSync(home);
  const agents = catalogue({ repository, home, isTrusted: () => true, recheckMs: 0, ...options });
  return {
    root,
    repository,
    home,
    agents,
    write(path, ...lines) {
      const file = join(root, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, lines.join('\n'));
      return file;
    },
    remove: (path) => rmSync(join(root, path), { recursive: true }),
    [Symbol.dispose]() {
      agents.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The shortest definition that can be used. */
export const simple = (name: string, body = `You are ${name}.`): string[] => [
  '---',
  `name: ${name}`,
  `description: Does ${name} work.`,
  '---',
  body,
];
