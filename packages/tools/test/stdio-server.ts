import { mcpStdio } from '../src/index.ts';
import { Rig } from './rig.ts';
import { SCRIPTS } from './scripts.ts';

// A program for the tests: an engine of its own, served over stdio to one chat, for as long as its input is open.
const rig = new Rig({ clock: 'real', scripts: SCRIPTS });
await rig.engine.start();
const { id } = await rig.person.openSession('chat', 'ann');
const caller = { kind: 'session', session: id } as const;
let agents = rig.worldOf(caller).grants;
const server = mcpStdio(
  { key: id, kind: 'session', world: () => rig.worldOf(caller, { grants: agents }) },
  { version: '0.0.0', progressEveryMs: 50 },
);
// What the caller may use changes on a signal.
process.on('SIGUSR2', () => {
  agents = { tools: ['a2a_list_agents'], deniedTools: [], delegatesTo: null };
  server.toolsChanged();
});
process.stdin.once('close', () => {
  void rig[Symbol.asyncDispose]().then(() => process.exit(0));
});
