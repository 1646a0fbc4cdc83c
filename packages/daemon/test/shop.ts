import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A small repository with one commit. */
export interface Shop {
  readonly root: string;
  /** The git folder that trust is given for. */
  readonly gitDir: string;
  readonly git: (...args: string[]) => string;
  readonly write: (path: string, text: string) => void;
}

export function makeShop(root: string): Shop {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
      cwd: root,
      encoding: 'utf8',
    }).trimEnd();
  mkdirSync(root);
  git('init', '-q', '-b', 'main');
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('README.md', 'a shop\n');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  return { root: realpathSync(root), gitDir: join(realpathSync(root), '.git'), git, write };
}

/** A prompt that its scripted agent follows. */
export const script = (...steps: object[]): string =>
  `do it\n\n\`\`\`reveille-script\n${JSON.stringify({ steps })}\n\`\`\``;
