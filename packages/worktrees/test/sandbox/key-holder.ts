// Tries to read the key whose number is its argument from outside and from inside the sandbox, and prints what came of it.
import { confinementIn, makeScene } from '../../src/doctor/scene.ts';
import { callNumber } from '../../src/sandbox/seccomp.ts';
import { openSandbox } from '../../src/sandbox/sandbox.ts';

const key = Number(process.argv[2]);
// KEYCTL_READ
const script = `perl -e 'my $b = "\\0" x 100; my $n = syscall(${callNumber('keyctl')}, 11, ${key}, $b, 100); print "key ${key}: $n $b\\n"'`;
const said: Record<string, string> = {};
for (const [name, setting] of [
  ['off', 'off'],
  ['on', 'require'],
] as const) {
  await using scene = await makeScene();
  await using sandbox = await openSandbox({ setting, warn: () => {}, home: scene.home, env: scene.env });
  said[name] = (await sandbox.run(script, confinementIn(scene))).output;
}
console.log(JSON.stringify(said));
