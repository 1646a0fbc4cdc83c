import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isReveilleError, type PlanInput } from '@reveille/protocol';
import { attempt, under } from '../acts/perform.tsx';
import { Graph, type Node } from '../graph/graph.tsx';
import { api } from '../link/api.ts';
import { plural } from '../parts/amounts.ts';
import { oneLine } from '../parts/clean.ts';
import { go } from '../router.ts';
import { store } from '../store/store.ts';
import { placed, readPlan, type PlacedProblem } from './read.ts';

const TEMPLATE = `# Tasks run at once where dependencies allow it.
name: A name for the plan
# repository: /home/you/project
tasks:
  - id: first
    prompt: |
      What the first agent should do.
  - id: second
    dependencies: [first]
    prompt: |
      What comes after it.
`;

/** Kept while the page is open: whoever looks elsewhere finds it again. */
const text = signal(TEMPLATE);
const WAIT_MS = 250;
const SAVING = 'save the plan';

/** Make a plan, with everything that is wrong with it said as it is written. */
export function Editor() {
  const { problems, checked } = useProblems();
  const read = useMemo(() => readPlan(text.value), [text.value]);
  const ready = checked && problems.length === 0 && 'plan' in read && !under.value.has(SAVING);
  const save = async (start: boolean): Promise<void> => {
    if (!ready || !('plan' in read)) return;
    await attempt(SAVING, async () => {
      // The daemon has found nothing wrong with it, and looks again.
      const { plan } = await api().savePlan(read.plan as PlanInput, { start });
      store.stale.plans = true;
      store.putPlans([...store.plans.values(), plan]);
      text.value = TEMPLATE;
      go(`/plan/${plan.id}`);
      return start ? `${plan.name} is ${plan.state}.` : `${plan.name} is saved as a draft.`;
    });
  };
  return (
    <div class="editor">
      <header class="head">
        <h1>Write a plan</h1>
        <div class="buttons">
          <button type="button" class="button" disabled={!ready} onClick={() => void save(false)}>
            Save as draft
          </button>
          <button type="button" class="button first" disabled={!ready} onClick={() => void save(true)}>
            Save and start
          </button>
        </div>
      </header>
      <div class="editor-parts">
        <Source problems={problems} save={() => void save(true)} />
        <div class="editor-side">
          <Problems problems={problems} checked={checked} />
          {'plan' in read ? <Graph nodes={nodesOf(read.plan)} label="The plan as a graph" /> : null}
        </div>
      </div>
    </div>
  );
}

function useProblems(): { problems: readonly PlacedProblem[]; checked: boolean } {
  const [found, setFound] = useState<{ of: string; problems: readonly PlacedProblem[] } | null>(null);
  const now = text.value;
  useEffect(() => {
    const read = readPlan(now);
    if ('problems' in read) return setFound({ of: now, problems: read.problems });
    let current = true;
    const timer = setTimeout(() => {
      api()
        .views.validatePlan({ plan: read.plan })
        .then((problems) => placed(problems, read.lineOf))
        .catch((error: unknown) => [
          { line: 1, problem: isReveilleError(error) ? error.message : String(error) },
        ])
        .then((problems) => current && setFound({ of: now, problems }))
        .catch(() => undefined);
    }, WAIT_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [now]);
  return { problems: found?.problems ?? [], checked: found?.of === now };
}

function Source({ problems, save }: { problems: readonly PlacedProblem[]; save: () => void }) {
  const bad = new Set(problems.map(({ line }) => line));
  const gutter = useRef<HTMLOListElement>(null);
  const lines = text.value.split('\n').length;
  return (
    <div class="source">
      <ol class="gutter" ref={gutter} aria-hidden="true">
        {Array.from({ length: lines }, (_, i) => (
          <li key={i} class={bad.has(i + 1) ? 'gutter-bad' : ''}>
            {i + 1}
          </li>
        ))}
      </ol>
      <textarea
        class="source-text"
        autofocus
        aria-label="The plan, in YAML"
        aria-describedby="problems"
        aria-invalid={problems.length > 0}
        spellcheck={false}
        wrap="off"
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onScroll={({ currentTarget }) => {
          if (gutter.current) gutter.current.scrollTop = currentTarget.scrollTop;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save();
        }}
      />
    </div>
  );
}

function Problems({ problems, checked }: { problems: readonly PlacedProblem[]; checked: boolean }) {
  if (problems.length === 0)
    return (
      <p id="problems" class={checked ? 'good' : 'quiet'} role="status">
        {checked ? 'Nothing is wrong with it.' : 'Checking …'}
      </p>
    );
  return (
    <div id="problems" role="status" class="problems">
      <strong class="bad">{plural(problems.length, 'problem')}</strong>
      <ul>
        {problems.slice(0, 20).map(({ line, problem }) => (
          <li key={`${line} ${problem}`}>
            <b>line {line}</b> {oneLine(problem)}
          </li>
        ))}
      </ul>
    </div>
  );
}

const MOST_NODES = 200;

/** As much of a half-written plan as can be drawn. */
function nodesOf(plan: unknown): Node[] {
  const tasks =
    typeof plan === 'object' && plan && 'tasks' in plan && Array.isArray(plan.tasks) ? plan.tasks : [];
  const named = tasks.filter(
    (task): task is { id: string; name?: unknown; dependencies?: unknown } =>
      typeof task === 'object' && task !== null && 'id' in task && typeof task.id === 'string',
  );
  const unique = new Map(named.map((task) => [task.id, task]));
  return [...unique.values()].slice(0, MOST_NODES).map(({ id, name, dependencies }) => ({
    id,
    name: oneLine(typeof name === 'string' ? name : id),
    needs: Array.isArray(dependencies) ? dependencies.filter((need) => typeof need === 'string') : [],
    row: null,
    asks: false,
  }));
}
