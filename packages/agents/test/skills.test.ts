import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { catalogue } from '@reveille/agents';
import { place } from './place.ts';

const skill = (name: string, body = `How to ${name}.`): string[] => [
  '---',
  `name: ${name}`,
  `description: Everything about ${name}.`,
  'license: MIT',
  '---',
  '',
  body,
];

describe('skills', () => {
  test('[AGT7.1] are listed by name and description, nearest first, each once', () => {
    using at = place();
    expect(at.agents.skills()).toEqual([]);
    at.write('home/.claude/skills/pdf/SKILL.md', ...skill('pdf', 'mine'));
    at.write('home/.claude/skills/csv/SKILL.md', ...skill('csv'));
    at.write('repository/.github/skills/pdf/SKILL.md', ...skill('pdf', 'theirs'));
    const path = at.write('repository/.reveille/skills/pdf/SKILL.md', ...skill('pdf', 'ours'));
    expect(at.agents.skills()).toMatchObject([
      { name: 'csv', description: 'Everything about csv.', place: 'home' },
      { name: 'pdf', place: 'repository', path },
    ]);
    expect(at.agents.loadSkill('pdf')).toMatchObject({ text: 'ours', files: [] });
  });

  test('[AGT7.1] are read when they are loaded, as they are then', () => {
    using at = place();
    at.write('home/.claude/skills/pdf/SKILL.md', ...skill('pdf', 'one'));
    expect(at.agents.skills()[0]).not.toHaveProperty('text');
    expect(at.agents.loadSkill('pdf').text).toBe('one');
    at.write('home/.claude/skills/pdf/SKILL.md', ...skill('pdf', 'two'));
    expect(at.agents.loadSkill('pdf').text).toBe('two');
  });

  test('[AGT7.1] name their other files, which can be asked for; nothing outside can', () => {
    using at = place();
    at.write('secret.txt', 'secret');
    at.write('home/.claude/skills/pdf/SKILL.md', ...skill('pdf'));
    at.write('home/.claude/skills/pdf/scripts/fill.py', 'print(1)');
    at.write('home/.claude/skills/pdf/FORMS.md', 'forms');
    symlinkSync(join(at.root, 'secret.txt'), join(at.home, '.claude/skills/pdf/out.txt'));
    expect(at.agents.loadSkill('pdf').files).toEqual(['FORMS.md', 'scripts/fill.py']);
    expect(at.agents.loadSkill('pdf', 'scripts/fill.py').text).toBe('print(1)');
    for (const file of [
      '../../../../secret.txt',
      'out.txt',
      join(at.root, 'secret.txt'),
      'scripts',
      '',
      'SKILL.md/..',
    ])
      expect(() => at.agents.loadSkill('pdf', file)).toThrow(expect.objectContaining({ code: 'not_found' }));
  });

  test('[AGT7.1] a folder of a skill that is a link inside the repository is followed, as installers make them', () => {
    using at = place();
    at.write('repository/.agents/skills/pdf/SKILL.md', ...skill('pdf'));
    at.write('repository/.agents/skills/pdf/more.md', 'more');
    at.write('outside/csv/SKILL.md', ...skill('csv'));
    mkdirSync(join(at.repository, '.claude/skills'), { recursive: true });
    symlinkSync('../../.agents/skills/pdf', join(at.repository, '.claude/skills/pdf'));
    symlinkSync(join(at.root, 'outside/csv'), join(at.repository, '.claude/skills/csv'));
    expect(at.agents.skills().map(({ name }) => name)).toEqual(['pdf']);
    expect(at.agents.loadSkill('pdf').files).toEqual(['more.md']);
    expect(at.agents.problems()).toMatchObject([{ message: 'the link leads out of its folder' }]);
  });

  test('[AGT7.2] those that cannot be used are reported with their place, the others stay', () => {
    using at = place();
    at.write('home/.claude/skills/good/SKILL.md', ...skill('good'));
    at.write('home/.claude/skills/a/SKILL.md', 'no front matter');
    at.write('home/.claude/skills/b/SKILL.md', '---', 'name: b', '---', 'x');
    at.write('home/.claude/skills/c/SKILL.md', '---', 'description: d', 'name: ../c', '---', 'x');
    at.write('home/.claude/skills/d/SKILL.md', '---', 'name: d', 'description: [', '---', 'x');
    at.write('home/.claude/skills/e/SKILL.md', ...skill('e', 'x'.repeat(256 * 1024)));
    expect(at.agents.skills().map(({ name }) => name)).toEqual(['good']);
    expect(at.agents.problems().map(({ line, column }) => [line, column])).toEqual([
      [1, 1],
      [1, 1],
      [3, 7],
      [3, 15],
      [null, null],
    ]);
  });

  test('[AGT7.2] an unknown one is refused, naming the nearest', () => {
    using at = place();
    expect(() => at.agents.loadSkill('x')).toThrow('There is no skill "x"; there are none.');
    at.write('home/.claude/skills/csv/SKILL.md', ...skill('csv'));
    at.write('home/.claude/skills/pdf/SKILL.md', ...skill('pdf'));
    expect(() => at.agents.loadSkill('../pdf')).toThrow('there are: pdf, csv');
    expect(() => at.agents.loadSkill('pdf', 'x.md')).toThrow('it is not in the folder of the skill');
  });
});

describe('instructions', () => {
  test('[AGT7.3] of the root and of the folders on the way to the files, the outer ones first', () => {
    using at = place();
    at.write('repository/CLAUDE.md', 'root, claude');
    at.write('repository/AGENTS.md', 'root');
    at.write('repository/packages/core/AGENTS.md', 'core');
    at.write('repository/packages/web/AGENTS.md', 'web');
    at.write('repository/packages/core/src/CLAUDE.md', 'src');
    const near = (...files: string[]) => at.agents.instructions(files).files.map(({ path }) => path);
    expect(near()).toEqual(['AGENTS.md', 'CLAUDE.md']);
    expect(near('packages/core/src/x.ts')).toEqual([
      'AGENTS.md',
      'CLAUDE.md',
      'packages/core/AGENTS.md',
      'packages/core/src/CLAUDE.md',
    ]);
    expect(near(join(at.repository, 'packages/web/y.ts'), './packages/core/')).toEqual([
      'AGENTS.md',
      'CLAUDE.md',
      'packages/core/AGENTS.md',
      'packages/web/AGENTS.md',
    ]);
  });

  test('[AGT7.3] the same text once: a link, a copy, a line that refers to the other', () => {
    using at = place();
    at.write('repository/AGENTS.md', 'the rules\n');
    symlinkSync('AGENTS.md', join(at.repository, 'CLAUDE.md'));
    at.write('repository/a/AGENTS.md', 'the rules');
    at.write('repository/b/AGENTS.md', 'b');
    at.write('repository/b/CLAUDE.md', '@AGENTS.md\n');
    at.write('repository/c/CLAUDE.md', '  \n');
    const { files, problems } = at.agents.instructions(['a/x', 'b/x', 'c/x']);
    expect(files).toEqual([
      { path: 'AGENTS.md', text: 'the rules' },
      { path: 'b/AGENTS.md', text: 'b' },
    ]);
    expect(problems).toEqual([]);
  });

  test('[AGT7.3] nothing from outside the repository, and nothing without end', () => {
    using at = place();
    at.write('AGENTS.md', 'outside');
    at.write('repository/large/AGENTS.md', 'x'.repeat(64 * 1024 + 1));
    symlinkSync(join(at.root, 'AGENTS.md'), join(at.repository, 'AGENTS.md'));
    for (let i = 0; i < 5; i++) at.write(`repository/many/${i}/AGENTS.md`, String(i).repeat(60 * 1024));
    const near = [
      '../x',
      '/etc/passwd',
      'a/../../../x',
      'large/x',
      ...Array.from({ length: 5 }, (_, i) => `many/${i}/x`),
    ];
    const { files, problems } = at.agents.instructions(near);
    expect(files.map(({ path }) => path)).toEqual([0, 1, 2, 3].map((i) => `many/${i}/AGENTS.md`));
    expect(problems.map(({ message }) => message)).toEqual([
      'the link leads out of the repository',
      'the file is larger than 65536 bytes',
      'the instructions together are larger than 262144 bytes',
    ]);
  });

  test('[AGT7.3] without a repository there are none', () => {
    using at = place();
    const agents = catalogue({ home: at.home, isTrusted: () => true });
    expect(agents.instructions(['x'])).toEqual({ files: [], problems: [] });
    agents.close();
  });
});
