import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Empty } from '../parts/pieces.tsx';
import { href, route } from '../router.ts';
import { Activity } from './activity.tsx';
import { Costs } from './costs.tsx';
import { Inbox } from './inbox.tsx';
import { Now } from './now.tsx';
import { PlanPage } from './plan.tsx';
import { Plans } from './plans.tsx';
import { Tree } from './tree.tsx';
import { Worker } from './worker.tsx';

/** What the address names. */
export function View() {
  const [place = '', id = '', part] = route.value;
  switch (place) {
    case '':
      return <Now />;
    case 'inbox':
      return <Inbox />;
    case 'plans':
      return <Plans />;
    case 'plan':
      return <PlanPage key={id} id={id} part={part} />;
    case 'tree':
      return <Tree />;
    case 'activity':
      return <Activity />;
    case 'costs':
      return <Costs />;
    case 'task':
      return <Worker key={id} id={id} part={part} />;
    case 'new':
      return <EditorOnDemand />;
    default:
      return (
        <Empty title="There is nothing here.">
          <a href={href('/')}>To what runs now</a>
        </Empty>
      );
  }
}

/** The parser of YAML is half as large as all the rest: loaded when somebody writes. */
function EditorOnDemand() {
  const [loaded, setLoaded] = useState<{ readonly Editor: ComponentType } | null>(null);
  useEffect(() => void import('../editor/editor.tsx').then(setLoaded), []);
  return loaded ? <loaded.Editor /> : <p class="loading">…</p>;
}
