import type { TaskRow } from '@reveille/protocol';
import { perform } from '../acts/perform.tsx';
import { TASK_ACTS } from '../acts/tasks.ts';
import { Bubble, type BubbleData } from '../bubble/bubble.tsx';
import { plural, tokens } from '../parts/amounts.ts';
import { Section } from '../parts/pieces.tsx';
import { whyOf } from '../parts/rows.tsx';
import { duration, now } from '../parts/time.tsx';
import { href } from '../router.ts';
import { summary } from '../store/summary.ts';

const MOST = 12;

/** What its agent has given to others, each as a bubble. */
export function Subtasks({ row }: { row: TaskRow }) {
  const children = summary().byOwner.get(row.session) ?? [];
  if (children.length === 0) return null;
  return (
    <Section
      title="Subtasks"
      count={children.length}
      aside={children.length > MOST ? <a href={href('/tree')}>All of them in the tree</a> : null}
    >
      <div class="cards">
        {children.slice(0, MOST).map((child) => (
          <Bubble
            key={child.id}
            bubble={bubbleOf(child)}
            href={href(`/task/${child.id}`)}
            act={(id) => {
              const act = TASK_ACTS.find((each) => each.id === id);
              if (act) void perform(act, child, child.name);
            }}
          />
        ))}
      </div>
    </Section>
  );
}

function bubbleOf(row: TaskRow): BubbleData {
  const below = summary().byOwner.get(row.session) ?? [];
  return {
    task: row.name,
    agent: row.agent,
    state: row.state,
    why: whyOf(row),
    health: row.run?.health,
    doing: row.run?.doing ?? null,
    facts: [
      `for ${duration(now.value - row.since)}`,
      plural(row.run?.turns ?? 0, 'turn'),
      `${tokens(row.run?.tokens ?? 0, row.run?.estimated)} tokens`,
    ],
    done: below.filter(({ state }) => state === 'completed').length,
    of: below.length,
  };
}
