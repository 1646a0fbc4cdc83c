// Runs a command without a sandbox, as the settings say, and waits for it. Whoever tests it kills this process.
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { confinementIn, makeScene } from '../../src/doctor/scene.ts';
import { Groups, findGroups } from '../../src/sandbox/cgroup.ts';
import { findKeeper } from '../../src/sandbox/keeper.ts';
import { Sandbox } from '../../src/sandbox/sandbox.ts';

const [hold = '', records = '', script = ''] = process.argv.slice(2);
const place = findGroups();
const keeper = hold === 'a keeper' ? await findKeeper() : null;
const groups = hold === 'control groups' && place ? new Groups(place, records) : null;
const found = { kind: 'none', version: null, why: '', bubblewrap: null } as const;
await using scene = await makeScene();
await using sandbox =
  hold === 'whatever there is'
    ? await openSandbox({ setting: 'off', warn: () => {}, home: scene.home, env: scene.env })
    : new Sandbox(
        found,
        { setting: 'off', warn: () => {}, home: scene.home, env: scene.env },
        { keeper, groups },
      );
console.log(JSON.stringify(await sandbox.run(script, confinementIn(scene))));
