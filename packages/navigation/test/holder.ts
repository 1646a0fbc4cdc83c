// Holds a server for the test that kills it: prints the server's process, and waits.
import { PATIENT, Rig } from './rig.ts';
import { SCRIPTED, goFiles } from './scripted.ts';

const [setting] = process.argv.slice(2);
const rig = await Rig.open({
  sandbox: setting === 'off' ? 'off' : 'warn',
  sources: { path: '', configured: { go: [SCRIPTED, 'deaf'] } },
});
const { found } = await rig.tree('a', goFiles).ask.usages({ symbol: 'Good', file: 'all.go' }, PATIENT);
console.log(JSON.stringify({ found, pid: rig.navigation.figures.pids[0] }));
setInterval(() => undefined, 1_000);
