// npm leaves out of package-lock.json the optional packages it could not fetch for other platforms, and then
// `npm ci` refuses the lock (npm/cli#4828). This adds them by name and exact version, so that the lock is the
// same wherever it was written. Runs after every `npm install`; changes nothing when nothing is missing.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SYSTEMS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];
const LIBRARIES = { gnu: 'glibc', gnueabihf: 'glibc', musl: 'musl', musleabihf: 'musl' };

const file = join(dirname(dirname(fileURLToPath(import.meta.url))), 'package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8'));

const missing = Object.entries(lock.packages).flatMap(([owner, { optionalDependencies = {}, dev }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !(at(name) in lock.packages) && !(`${owner}/${at(name)}` in lock.packages))
    .map(([name, version]) => [at(name), entry(name, version, dev)])
    .filter(([, found]) => found),
);

if (missing.length > 0) {
  const packages = Object.entries(lock.packages).concat(missing);
  packages.sort(([a], [b]) => a.localeCompare(b, 'en'));
  lock.packages = Object.fromEntries(packages);
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`package-lock.json: added ${missing.length} optional packages of other platforms`);
}

function at(name) {
  return `node_modules/${name}`;
}

/** Such packages say their platform in their name (`@oxlint/binding-linux-arm64-musl`): npm skips them by it. */
function entry(name, version, dev) {
  const words = name.split(/[/-]/);
  const os = words.filter((word) => SYSTEMS.includes(word));
  const cpu = words.filter((word) => PROCESSORS.includes(word));
  const libc = words.flatMap((word) => LIBRARIES[word] ?? []);
  if (cpu.length === 0 || !/^\d+\.\d+\.\d+$/.test(version)) {
    console.warn(
      `package-lock.json lacks ${name}@${version}, and what it is for cannot be told from its name.`,
    );
    return undefined;
  }
  const known = { version, cpu, dev, libc, optional: true, os }; // in npm's own order
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value && value.length !== 0));
}
