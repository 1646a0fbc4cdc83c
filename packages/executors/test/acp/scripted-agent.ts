/**
 * An agent that speaks the Agent Client Protocol and does what its prompt says: no vendor.
 *
 *   node scripted-agent.ts [--no-load] [--no-http] [--steers] [--hang] [--old] [--login] [--crash] [--garbage]
 *
 * A script is a fence ```acp-script with JSON: { "steps": [...], "restarted": [...] }. If SCRIPTED_MODEL names the address
 * of a model, it asks that instead and does what it answers. A session remembers what it was told and how far it is, in a
 * file of its home, so that it can be loaded by a later process.
 */
import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { RequestError, agent, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { ModelTurn } from './model-turn.ts';
import { Telling, load, newSession, save, sessionOf, type Session, type Step } from './session.ts';
import { ScriptedTurn, forever, manners } from './steps.ts';

const flags = new Set(process.argv.slice(2));
const model = process.env['SCRIPTED_MODEL'];
const sessions = new Map<string, Session>();

function take(session: Session, prompt: string): void {
  for (const [id] of prompt.matchAll(/\b(?:msg|run|task)_\w+/g)) session.given.push(id);
  const fence = /```acp-script\n([\s\S]*?)\n```/.exec(prompt)?.[1];
  if (fence === undefined || session.steps.length > 0) return;
  const script = JSON.parse(fence) as { steps: Step[]; restarted?: Step[] };
  session.steps = prompt.includes('you begin anew') ? (script.restarted ?? script.steps) : script.steps;
}

if (flags.has('--crash')) {
  process.stderr.write('Error: cannot find module "left-pad"\n');
  process.exit(1);
}
if (flags.has('--garbage')) process.stdout.write('Welcome to the scripted agent!\n{"not":"rpc"}\n[1,2\n');
if (flags.has('--unknown-option')) {
  process.stderr.write("error: unknown option '--acp'\n");
  process.exit(2);
}

const connection = agent({ name: 'scripted' })
  .onRequest(methods.agent.initialize, async () => {
    if (flags.has('--hang')) await forever(new AbortController().signal);
    return {
      protocolVersion: flags.has('--old') ? 99 : 1,
      agentCapabilities: {
        loadSession: !flags.has('--no-load'),
        mcpCapabilities: { http: !flags.has('--no-http') },
      },
      agentInfo: { name: 'scripted', version: '1.2.3' },
      authMethods: [{ id: 'key', name: 'A key' }],
      ...(flags.has('--steers') ? { _meta: { steering: { supported: true } } } : {}),
    };
  })
  .onRequest(methods.agent.authenticate, () => ({}))
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (flags.has('--login')) throw RequestError.authRequired();
    const session = newSession(randomUUID(), params.cwd, params.mcpServers);
    sessions.set(session.id, session);
    save(session);
    return { sessionId: session.id };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const { sessionId, mcpServers } = params;
    const saved = load(sessionId);
    if (!saved) throw RequestError.resourceNotFound(sessionId);
    const session = sessionOf(sessionId, saved, mcpServers);
    sessions.set(sessionId, session);
    const telling = new Telling(session, client);
    for (const id of session.given)
      await telling.update({
        sessionUpdate: 'user_message_chunk',
        content: { type: 'text', text: `${id} ` },
      });
    return {};
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    sessions.get(params.sessionId)?.cancel.abort();
  })
  .onRequest(
    '_session/steering',
    (params) => params as { sessionId: string; prompt: { text: string }[] },
    ({ params }) => {
      const session = sessions.get(params.sessionId);
      if (!session?.prompting) return { outcome: 'promptRequired', reason: 'noRunningTurn' };
      const words = params.prompt.map((part) => part.text).join('\n');
      session.steered.push(words);
      session.onSteer();
      return { outcome: 'injected' };
    },
  )
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const session = sessions.get(params.sessionId);
    if (!session) throw RequestError.sessionNotFound(params.sessionId);
    if (session.prompting) throw new RequestError(-32_603, 'a second prompt came during a turn');
    const prompt = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    session.cancel = new AbortController();
    session.prompting = true;
    try {
      take(session, prompt);
      save(session);
      const ended = model
        ? await new ModelTurn(session, client).play(prompt, model)
        : await new ScriptedTurn(session, client, prompt).play();
      return ended as { stopReason: 'end_turn' };
    } finally {
      session.prompting = false;
    }
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  );

// Nobody speaks with it any more.
void connection.closed.then(() => {
  if (!manners.ignoresTerm) process.exit(0);
});
