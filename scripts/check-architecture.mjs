// Holds the rooms to the one direction of imports that ARCHITECTURE.md promises.
//   node scripts/check-architecture.mjs [root]
import './require-node.cjs';
import fs from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const HANDS = ['stores', 'worktrees', 'agents', 'navigation', 'executors'];

/** What the sources of a room may import of the other rooms. */
const MAY_IMPORT = {
  'packages/protocol': [],
  'packages/core': ['protocol'],
  ...Object.fromEntries(HANDS.map((hand) => [`packages/${hand}`, ['protocol', 'core']])),
  'packages/tools': ['protocol'],
  'packages/model-server': [],
  'packages/daemon': ['protocol', 'core', 'tools', ...HANDS],
  // The hands because the demo is composed there: it needs no daemon.
  'apps/cli': [
    'protocol',
    'tools',
    'daemon',
    'model-server',
    'agents',
    'core',
    'stores',
    'executors',
    'worktrees',
  ],
  'apps/dashboard': ['protocol'],
  'apps/vscode': ['protocol', 'tools'],
};

/** Rooms that must run anywhere, a browser included: no builtin of Node, and of npm only what is named. */
const OUTSIDE = { 'packages/protocol': ['zod'], 'packages/core': [] };

const here = dirname(dirname(fileURLToPath(import.meta.url)));
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const violations = findViolations(process.argv[2] ?? here);
  for (const violation of violations) console.error(violation);
  if (violations.length > 0) process.exitCode = 1;
}

/** Every violation as `file: sentence`. */
export function findViolations(root) {
  const files = fs.globSync(['{packages,apps}/*/{src,test}/**/*.{ts,tsx}', '{test,bench,examples}/**/*.ts'], {
    cwd: root,
  });
  const sources = files.sort().map((file) => readSource(root, file));
  return [...sources.flatMap((source) => [...importViolations(root, source)]), ...cycleViolations(sources)];
}

function readSource(root, file) {
  const [, room, part] = /^((?:packages|apps)\/[^/]+)\/(src|test)\//.exec(file) ?? [];
  const text = fs.readFileSync(join(root, file), 'utf8');
  const shipped = part === 'src';
  const imports = importsOf(text);
  // Parts of a test may know each other's types; what ships may not even do that in a circle.
  const circles = shipped ? imports : importsOf(text.replaceAll(/^\s*import\s+type\s[^;]*;/gm, ''));
  return { file, room, shipped, imports, circles };
}

/** The specifiers a file imports: static, re-exported, for their effect, dynamic. */
function importsOf(text) {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const patterns = [
    /^\s*(?:import|export)\s[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /^\s*import\s*['"]([^'"]+)['"]/gm,
    /\bimport\(\s*['"]([^'"]+)['"]/g,
  ];
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1]));
}

function* importViolations(root, { file, room, shipped, imports }) {
  if (room && shipped && !(room in MAY_IMPORT)) yield `${file}: ${room} is not in the table of rooms.`;
  for (const specifier of imports) {
    if (specifier.startsWith('.')) {
      const to = target(file, specifier);
      // What tests of several rooms share lies beside the suites.
      const shared = !shipped && /^test\/[^/]+$/.test(to);
      if (!shared && roomOf(to) !== room) yield `${file}: '${specifier}' reaches into another room.`;
      continue;
    }
    const [, name, subpath] = /^@reveille\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
    if (!name) {
      const allowed = shipped && OUTSIDE[room];
      if (allowed && !allowed.includes(specifier)) yield `${file}: ${room} may not import '${specifier}'.`;
      continue;
    }
    if (subpath && !isExported(root, name, subpath))
      yield `${file}: '${specifier}' is not exported by ${name}.`;
    if (shipped && !MAY_IMPORT[room]?.includes(name)) yield `${file}: ${room} may not import ${name}.`;
  }
}

function roomOf(file) {
  return /^((?:packages|apps)\/[^/]+)\//.exec(file)?.[1];
}

function target(file, specifier) {
  return normalize(join(dirname(file), specifier));
}

function isExported(root, name, subpath) {
  const manifest = join(root, 'packages', name, 'package.json');
  return (
    fs.existsSync(manifest) && `./${subpath}` in (JSON.parse(fs.readFileSync(manifest, 'utf8')).exports ?? {})
  );
}

/** Depth first over the relative imports; an import of a file still being visited closes a cycle. */
function* cycleViolations(sources) {
  const imports = new Map(
    sources.map(({ file, circles: all }) => [
      file,
      all.filter((specifier) => specifier.startsWith('.')).map((specifier) => target(file, specifier)),
    ]),
  );
  const done = new Set();
  const path = [];
  const visit = function* (file) {
    if (done.has(file)) return;
    if (path.includes(file)) {
      const cycle = [...path.slice(path.indexOf(file)), file];
      yield `${file}: imports itself by way of ${cycle.map((step) => relative(dirname(file), step)).join(' → ')}.`;
      return;
    }
    path.push(file);
    for (const next of imports.get(file) ?? []) yield* visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) yield* visit(file);
}
