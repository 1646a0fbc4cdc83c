import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Coverage } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { aliases, scripts } from './corpus/aliases.ts';
import { monorepo, otherNames, references, uninstalled } from './corpus/monorepo.ts';
import { python, unserved } from './corpus/others.ts';
import { bash, cpp, go, php } from './corpus/served.ts';
import type { Question, Repository } from './corpus/question.ts';
import { shadows } from './corpus/shadows.ts';
import { single } from './corpus/single.ts';
import { REQUIRED, SERVER_PATH, isHere } from './language-servers.ts';
import { PATIENT, Rig, at, type Tree } from './rig.ts';

/** Their server is shown one file of each project, and may forget it. */
const FEW_OPEN: readonly Repository[] = [
  single,
  shadows,
  monorepo,
  otherNames,
  references,
  uninstalled,
  aliases,
  scripts,
];
const ALL: readonly Repository[] = [...FEW_OPEN, python, unserved, cpp, go, bash, php];

/** Only what is named: a server that happens to be on the machine would answer otherwise. */
const manifest = createRequire(import.meta.url).resolve('basedpyright/package.json');
const SOURCES = {
  path: '',
  configured: { python: [join(dirname(manifest), 'langserver.index.js'), '--stdio'] },
};

interface Answer extends Coverage {
  readonly is: readonly string[];
}

async function answerOf({ ask }: Tree, question: Question): Promise<Answer> {
  switch (question.ask) {
    case 'define': {
      const { symbol, from } = question;
      const found = await ask.definitions({ symbol, ...(from === undefined ? {} : { from }) }, PATIENT);
      return { ...found, is: at(found.definitions) };
    }
    case 'usages': {
      const found = await ask.usages({ symbol: question.symbol, file: question.file }, PATIENT);
      return { ...found, is: at(found.usages) };
    }
    case 'exports': {
      const found = await ask.module({ path: question.module }, PATIENT);
      return { ...found, is: found.exports.map(({ name }) => name) };
    }
    case 'imports': {
      const found = await ask.module({ path: question.module }, PATIENT);
      return { ...found, is: [...new Set(found.imports.map(({ path }) => path ?? '?'))] };
    }
    case 'importers': {
      const found = await ask.module({ path: question.module }, PATIENT);
      return { ...found, is: at(found.importers) };
    }
    default:
      return question satisfies never;
  }
}

describe('a corpus of questions with known answers', () => {
  test('[NAV2.1] there are at least 60 of them, over at least 6 repositories', () => {
    expect(ALL.length).toBeGreaterThanOrEqual(6);
    expect(ALL.flatMap(({ questions }) => questions).length).toBeGreaterThanOrEqual(60);
  });

  /** Before each question a server forgets half of what it was shown. */
  const FORGETFUL = { pressShare: 0, reliefMs: 0 };
  const ways = ALL.flatMap((each) => [
    { ...each, settings: {} },
    {
      ...each,
      name: `${each.name}, asked backwards`,
      questions: each.questions.toReversed(),
      settings: {},
    },
    ...(FEW_OPEN.includes(each)
      ? [{ ...each, name: `${each.name}, with little memory`, settings: FORGETFUL }]
      : []),
  ]);
  test.for(ways)(
    '[NAV2.1] every answer is right, or says that it is not complete: $name',
    async ({ server, files, questions, edit, settings }, { skip }) => {
      const missing = (server ?? []).filter((program) => !isHere(program));
      if (!REQUIRED) skip(missing.length > 0, `not on the path: ${missing.join(', ')}`);
      await using rig = await Rig.open({ settings, sources: server ? { path: SERVER_PATH } : SOURCES });
      const tree = rig.tree('asked', files);
      for (const question of questions) {
        await rig.navigation.measure();
        await check(tree, question);
      }
      if (!edit) return;
      tree.write(edit.files);
      await check(tree, edit.question);
    },
  );
});

async function check(tree: Tree, question: Question): Promise<void> {
  const answer = await answerOf(tree, question);
  const about = JSON.stringify({ question, notes: answer.notes, uncovered: answer.uncovered });
  expect(answer.is.toSorted(), about).toEqual(question.is.toSorted());
  expect(answer.complete, about).toBe(!question.open && !question.partly);
  expect(answer.found, about).toBe(question.open ? 'text' : 'semantic');
  if (question.uncovered !== undefined)
    expect(answer.uncovered.map(({ reason }) => reason).join('\n'), about).toContain(question.uncovered);
}
