import type { Step, WrittenScript } from '@reveille/executors';
import { withModelScript, type ModelScript, type ModelStep } from '@reveille/model-server';
import type { PlanInput } from '@reveille/protocol';
import { tell, type Chapter, type Owner } from './story.ts';

/** How agents of a backend do what the story says: each has tools of its own. */
export interface Hands {
  readonly write: (path: string, content: string) => ModelStep;
  /** Something harmless to do between two words: an answer without a call would end the turn. */
  readonly look: ModelStep;
}

type Spawn = Extract<Step, { do: 'spawn' }>;
type Child = Omit<Spawn['tasks'][number], 'script'> & { readonly script?: WrittenScript };

/** The same plan, as a model answers that the agents ask: nobody thinks here either, but the agents are real. */
export function modelStory(speed: number, hands: Hands): { plan: PlanInput; owner: Owner } {
  const write = ({ id, agent, dependencies, prompt, script }: Chapter): PlanInput['tasks'][number] => ({
    id,
    dependencies,
    // Designers, writers and reviewers change no file by their definition; here some of them do.
    agent: script.steps?.some(({ do: what }) => what === 'edit') ? 'coder' : agent,
    prompt: withModelScript(prompt, new Adaptation(hands).of(script)),
  });
  return tell(speed, write);
}

/** Turns what a scripted agent does into what a model says. */
class Adaptation {
  readonly #hands: Hands;
  readonly #steps: ModelStep[] = [];
  #say: string | undefined;
  #waitMs = 0;

  constructor(hands: Hands) {
    this.#hands = hands;
  }

  of({ steps = [], whenWoken = [] }: WrittenScript): ModelScript {
    for (const step of [...steps, ...whenWoken]) this.#take(step);
    return { steps: this.#steps };
  }

  #take(step: Step): void {
    switch (step.do) {
      case 'say':
        if (this.#say !== undefined) this.#answer(this.#hands.look);
        this.#say = step.text;
        return;
      case 'work':
        this.#waitMs += step.ms;
        return;
      case 'edit':
        return this.#answer(this.#hands.write(step.path, step.content ?? ''));
      case 'ask': {
        const { text, options = [] } = step;
        this.#answer({ call: 'a2a_notify_parent', input: { type: 'question', message: text, options } });
        return this.#restUntil('answers your request', 'I need an answer first.');
      }
      case 'spawn':
        // What a child does is a script again, which the type of a step cannot say of itself.
        return this.#spawn(step.tasks as readonly Child[]);
      case 'fail':
        return this.#report(step.message ?? 'failed', 'failed');
      case 'report':
        return this.#report(step.output ?? 'Done.', 'success');
      default:
        // What is left is about being woken, which `#spawn` has said already.
        return;
    }
  }

  #answer(step: ModelStep): void {
    const say = this.#say === undefined ? {} : { say: this.#say };
    this.#steps.push({ ...say, waitMs: this.#waitMs, ...step });
    this.#say = undefined;
    this.#waitMs = 0;
  }

  #report(output: string, status: string): void {
    this.#answer({ call: 'a2a_subtask_complete', input: { status, output } });
  }

  /** It ends its turn and is woken, as often as it takes. */
  #restUntil(until: string, say: string): void {
    this.#steps.push({ say, until });
  }

  /** One that fails is set right and handed out again; all that went well is taken over. */
  #spawn(tasks: readonly Child[]): void {
    const given = tasks.map((task) => this.#child(task));
    this.#answer({ call: 'a2a_spawn_parallel_subtasks', input: { subtasks: given } });
    const wants = new Map(tasks.map((task) => [task.prompt, task.prompt]));
    for (const task of tasks) {
      const again = task.script?.steps?.filter(({ attempt }) => attempt === undefined);
      if (!again || again.length === task.script?.steps?.length) continue;
      this.#restUntil(ended(task.prompt), 'My subtasks work; I wait for what they find.');
      const prompt = `Once more: ${task.prompt}`;
      const retry = this.#child({ ...task, name: `${task.name} again`, prompt, script: { steps: again } });
      this.#say = 'A subtask failed: setting it right, then trying again';
      this.#answer({ call: 'a2a_spawn_subtask', input: { ...retry, blocking: false } });
      wants.set(task.prompt, prompt);
    }
    const prompts = [...wants.values()];
    for (const prompt of prompts) this.#restUntil(ended(prompt), 'I wait for the rest.');
    for (const prompt of prompts)
      this.#answer({ call: 'a2a_pull_subtask_changes', input: { taskId: taskOf(prompt) } });
  }

  #child({ name, agentType, prompt, script = {} }: Child): Record<string, unknown> {
    const own = new Adaptation(this.#hands).of(firstAttempt(script));
    return { name, agentType, prompt: withModelScript(prompt, own) };
  }
}

/** Up to where it fails, if it does. */
function firstAttempt({ steps = [] }: WrittenScript): WrittenScript {
  const fails = steps.findIndex(({ do: what }) => what === 'fail');
  return { steps: fails < 0 ? steps : steps.slice(0, fails + 1) };
}

/** As the end of a subtask is told to its parent. */
const ended = (prompt: string): string => `received the task "${prompt}`;
const taskOf = (prompt: string): string => `\${/\\((task_\\w+)\\) ${escaped(ended(prompt))}/}`;
const escaped = (text: string): string => text.replaceAll(/[.*+?^$()[\]{}|\\]/g, '\\$&');
