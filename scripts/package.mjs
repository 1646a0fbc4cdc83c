// Makes what `npm pack` packs, in dist/: the program and all it needs in a few files, so that installing it brings
// nothing else along. Run by `npm pack` itself, and by hand with `npm run package`.
//
// What was one folder of a room is here: dist/lib stands for every `src`, dist for the room round it. So a source
// may point to what lies beside it or in its room (`new URL('../definitions', import.meta.url)`), if it lies directly in
// `src`; that every such pointer leads somewhere is checked.
import './require-node.cjs';
import fs from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');

/** The programs, by the name of the file they become. */
const PROGRAMS = {
  cli: 'apps/cli/src/main.ts',
  main: 'packages/daemon/src/main.ts',
  'search-worker': 'packages/tools/src/search/search-worker.ts',
  'scout-worker': 'packages/navigation/src/text/scout-worker.ts',
  'syntax-worker': 'packages/navigation/src/syntax/syntax-worker.ts',
};
/** What is shipped as it is, and where to. */
const COPIES = {
  'scripts/package/bin': 'bin',
  'packages/agents/definitions': 'definitions',
  'apps/dashboard/dist': 'dashboard',
  'packages/daemon/config.schema.json': 'schemas/config.schema.json',
  'examples/plan.schema.json': 'schemas/plan.schema.json',
};
/** Looked for by their users, who do without; nobody has them. */
const ABSENT = ['pg-native', 'pg-cloudflare'];
/** Programs and grammars, not code: npm installs them beside, if it can; without them there is text search. */
const BESIDE = Object.keys(manifestIn(root).optionalDependencies);

fs.rmSync(dist, { recursive: true, force: true });
const { output } = await bundle();
for (const [from, to] of Object.entries(COPIES))
  fs.cpSync(join(root, from), join(dist, to), { recursive: true });
const { name, version } = manifestIn(root);
write('package.json', `${JSON.stringify({ name, version, private: true, type: 'module' }, null, 2)}\n`);
write('THIRD-PARTY.md', thirdPartyPage([...new Set([...packagesIn(output), ...packagesOfPage()])]));
checkPointers(output);
console.log(`dist: ${(sizeOf(dist) / 2 ** 20).toFixed(1)} MiB in ${output.length} files of code`);

async function bundle() {
  const bundler = await rolldown({
    cwd: root,
    input: PROGRAMS,
    platform: 'node',
    // As the sources are run: no room has to be built first.
    resolve: { conditionNames: ['source', 'node'] },
    external: [...ABSENT, ...BESIDE, ...onDemand()],
  });
  try {
    return await bundler.write({
      dir: join(dist, 'lib'),
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      // Without comments and blanks. Names stay: whoever reports a fault sends a stack.
      minify: { compress: false, mangle: false, codegen: true },
    });
  } finally {
    await bundler.close();
  }
}

/** What rooms load on demand, if it is there, is not brought along: whoever wants it installs it. */
function onDemand() {
  const rooms = fs.globSync('{packages,apps}/*/package.json', { cwd: root }).map((file) => dirname(file));
  return rooms.flatMap((room) => {
    const { optionalDependencies = {}, peerDependencies = {} } = manifestIn(join(root, room));
    return Object.keys({ ...optionalDependencies, ...peerDependencies });
  });
}

/** The folders of the packages that code was taken from. */
function packagesIn(chunks) {
  const folders = chunks
    .flatMap(({ modules = {} }) => Object.keys(modules))
    .filter((id) => id.includes(`${sep}node_modules${sep}`))
    .map((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id.replace(/^\0/, ''))?.[0]);
  return [...new Set(folders)].filter(Boolean).sort((a, b) => a.localeCompare(b, 'en'));
}

/** Those of the dashboard, which was built before: what it names, and what that brings along. */
function packagesOfPage() {
  const modules = join(root, 'node_modules');
  const found = new Set(['zod']);
  const waiting = Object.keys(manifestIn(join(root, 'apps', 'dashboard')).dependencies);
  for (const name of waiting) {
    if (name.startsWith('@reveille/') || found.has(name)) continue;
    found.add(name);
    waiting.push(...Object.keys(manifestIn(join(modules, name)).dependencies ?? {}));
  }
  return [...found].map((name) => join(modules, name));
}

function thirdPartyPage(folders) {
  const sections = folders.map((folder) => {
    const { name: title, version: number, license, homepage, repository } = manifestIn(folder);
    const where = homepage ?? repository?.url ?? repository ?? '';
    return `## ${title} ${number}\n\n${license}, ${where}\n\n${fenced(licenceIn(folder) ?? standIn(folder))}\n`;
  });
  return `# What is in this package of others\n\nTheir code is in dist/lib, under their own terms.\n\n${sections.join('\n')}`;
}

function licenceIn(folder) {
  const file = fs.readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.\w+)?$/i.test(entry));
  return file && fs.readFileSync(join(folder, file), 'utf8').trim();
}

/** A package that only names its licence: its author, under the words that the name stands for. */
function standIn(folder) {
  const { name: title, license, author } = manifestIn(folder);
  if (license !== 'MIT') throw new Error(`${title} has no licence text, and ${license} has none here.`);
  const words = fs.readFileSync(join(root, 'LICENSE'), 'utf8').trim();
  return words.replace(
    /^Copyright .*$/m,
    `Copyright (c) ${author?.name ?? author ?? `the authors of ${title}`}`,
  );
}

function fenced(text) {
  return `\`\`\`text\n${text.replaceAll('```', "'''")}\n\`\`\``;
}

/** What the code looks for beside itself must be there. */
function checkPointers(chunks) {
  for (const { fileName, code = '' } of chunks) {
    for (const [, path] of code.matchAll(/new URL\(\s*["'`](\.[^"'`]*)["'`],\s*import\.meta\.url/g)) {
      // Of a source that runs as it is, which nothing here does.
      if (path.endsWith('.ts')) continue;
      if (!fs.existsSync(join(dist, 'lib', path)))
        throw new Error(
          `${fileName} looks for ${path}, which is not there: see COPIES in scripts/package.mjs.`,
        );
    }
  }
}

function manifestIn(folder) {
  return JSON.parse(fs.readFileSync(join(folder, 'package.json'), 'utf8'));
}

function write(path, text) {
  fs.writeFileSync(join(dist, path), text);
}

function sizeOf(folder) {
  const files = fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile());
  return files.reduce((sum, entry) => sum + fs.statSync(join(entry.parentPath, entry.name)).size, 0);
}
