import { setImmediate as nextPhase, setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { plain, paintFor } from '../ansi.ts';
import { UsageError } from '../usage.ts';
import { duration } from '../view/words.ts';
import { drawFrame } from './frame.ts';
import { Interruption } from './interruption.ts';
import { drawLine } from './lines.ts';
import { look, type Ended, type Picture } from './picture.ts';
import { DEMO_BACKENDS, type DemoBackend } from './demo-backends.ts';
import type { Happening } from './probe.ts';
import { Screen } from './screen.ts';
import { setUp, type Stage } from './stage.ts';
import { story } from './story.ts';
import { drawSummary, summarise } from './summary.ts';

export const DEMO_HELP = `reveille demo: a plan of eight tasks, run by scripted agents, shown live

  reveille demo [options]

The engine, its database, git and the worktrees are the real ones; the agents follow a script, so
no key, no model and no network are needed. One of them fans out four subtasks, one of which fails
and is tried again; another asks you a question, which is answered for you. At the end the work of
all is merged into one branch, in a repository made for the occasion. It takes about 20 seconds.

With --backend the same plan is run by a real agent: the one you have installed, on a model that
follows the script. Still no key, no account and no network are needed, and nothing of yours is
used: no login, no key, no setting of it.

  --backend NAME  claude, codex, gemini, copilot, opencode, or builtin
  --speed N       N times as fast (0.1 to 100)
  --keep          keep the repository and the database, and say where; otherwise they are deleted
  --json          every event as a line of JSON, then the summary
  --help          this text

In a terminal the tree is redrawn in place; elsewhere every change is a line. NO_COLOR=1 turns
colours off. Ctrl-C ends it.
`;

interface Options {
  readonly backend: DemoBackend | null;
  readonly speed: number;
  readonly keep: boolean;
  readonly json: boolean;
}

const FRAME_MS = 100;

export async function demo(args: readonly string[]): Promise<number> {
  const options = parse(args);
  if (!options) {
    process.stdout.write(DEMO_HELP);
    return 0;
  }
  const interruption = new Interruption();
  const view = viewFor(options);
  const { keep, speed, backend } = options;
  let stage: Stage | undefined;
  try {
    stage = await setUp({
      told: backend ? await storyOn(backend, speed) : story(speed),
      keep,
      backend,
      happened: (happening, at) => view.happened(happening, at),
    });
    const picture = await watch(stage, view, interruption);
    const history = await stage.history();
    await stage.close();
    view.close();
    return finish({ ...picture, history }, stage, { options, view, interruption });
  } finally {
    await stage?.close();
    view.close();
    interruption.forget();
  }
}

/** Shows the plan until it has ended, or until somebody wants it to. */
async function watch(stage: Stage, view: View, interruption: Interruption): Promise<Picture> {
  let picture = await look(stage);
  while (picture.plan.state === 'active' && !interruption.why) {
    await view.show(picture, stage);
    await Promise.race([interruption.happens, sleep(FRAME_MS)]);
    picture = await look(stage);
  }
  await view.show(picture, stage, true);
  return picture;
}

function parse(args: readonly string[]): Options | null {
  const { values } = readArgs(args);
  if (values.help) return null;
  const speed = Number(values.speed);
  if (!(speed >= 0.1 && speed <= 100)) {
    throw new UsageError(`--speed takes a number from 0.1 to 100, not "${values.speed}".`, 'demo');
  }
  return { speed, keep: values.keep, json: values.json, backend: backendNamed(values.backend) };
}

function backendNamed(name: string | undefined): DemoBackend | null {
  if (name === undefined || name === 'scripted') return null;
  const known = DEMO_BACKENDS.find((backend) => backend === name);
  if (!known)
    throw new UsageError(`--backend takes one of ${DEMO_BACKENDS.join(', ')}, not "${name}".`, 'demo');
  return known;
}

async function storyOn(backend: DemoBackend, speed: number): Promise<ReturnType<typeof story>> {
  const [{ modelStory }, { handsOf }] = await Promise.all([
    import('./model-story.ts'),
    import('./real-agents.ts'),
  ]);
  return modelStory(speed, handsOf(backend));
}

function readArgs(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        backend: { type: 'string' },
        speed: { type: 'string', default: '1' },
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), 'demo', { cause: error });
  }
}

/** One way of showing what happens. */
interface View {
  /** Called for every single thing, as it happens. */
  happened(happening: Happening, at: number): void;
  /** Called every so often, and once more at the end. */
  show(picture: Picture, stage: Stage, last?: boolean): Promise<void>;
  close(): void;
  summary(picture: Ended, kept: string | null): string;
}

function viewFor(options: Options): View {
  if (options.json) return jsonView();
  return process.stdout.isTTY && process.env['TERM'] !== 'dumb' ? liveView(options.backend) : lineView();
}

function liveView(backend: DemoBackend | null): View {
  const paint = paintFor(process.stdout, process.env);
  const screen = new Screen(process.stdout);
  return {
    happened: () => undefined,
    show: async (picture, _, last = false) => {
      // Signals are heard between timers and this: one that was stopped must know that it was before it draws.
      await nextPhase();
      screen.draw(drawFrame(picture, { ...screen.size, last, backend }, paint));
    },
    close: () => screen.close(),
    summary: (picture, kept) => `${drawSummary(picture, kept, screen.size.columns, paint).join('\n')}\n`,
  };
}

function lineView(): View {
  return {
    happened: (happening, at) => {
      const line = drawLine(happening, at);
      if (line !== null) process.stdout.write(`${line}\n`);
    },
    show: async () => undefined,
    close: () => undefined,
    summary: (picture, kept) => `${drawSummary(picture, kept, 100, plain).join('\n')}\n`,
  };
}

function jsonView(): View {
  let after = 0;
  const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
  return {
    happened: () => undefined,
    async show(_, stage) {
      const events = await stage.orchestrator.events(after, 10_000);
      for (const event of events) process.stdout.write(line(event));
      after = events.at(-1)?.number ?? after;
    },
    close: () => undefined,
    summary: (picture, kept) =>
      line({ type: 'demo.summary', ...summarise(picture), history: picture.history, folder: kept }),
  };
}

interface Finish {
  readonly options: Options;
  readonly view: View;
  readonly interruption: Interruption;
}

function finish(picture: Ended, stage: Stage, { options, view, interruption }: Finish): number {
  const kept = options.keep ? stage.folder : null;
  if (interruption.why === 'unread') return 0;
  if (interruption.why) {
    const done = picture.rows.filter(({ state }) => state === 'completed').length;
    const database = kept === null ? 'Its folder is deleted' : `Everything is in ${kept}`;
    const stopped = `Stopped after ${duration(picture.elapsed)}, with ${done} of ${picture.rows.length} tasks done.`;
    process.stderr.write(`\n${stopped} ${database}; nothing is left running.\n`);
    return interruption.exitCode;
  }
  process.stdout.write(view.summary(picture, kept));
  for (const warning of stage.warnings) process.stderr.write(`The engine warned: ${warning}\n`);
  return picture.plan.state === 'completed' ? 0 : 1;
}
