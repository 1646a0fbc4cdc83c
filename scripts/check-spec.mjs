// Every rule is proven by a test, and every test that claims to prove a rule names one that exists.
//   node scripts/check-spec.mjs [root]
//
// Rules are the bullets `- **WAK3** …` of a room's SPEC.md; the faults of earlier systems (`B12`) and the cases of
// comparable ones (`peer-a`) are the same bullets in test/FAULTS.md. A test proves a rule by a name that begins
// with it: `[WAK3] …`, `[WAK3][MBX2] …`. A skipped test proves nothing.
//
// test/RULES.md holds the ids of the product's rules. A rule is listed in a SPEC.md by its own id or by an id below it, unless
// RULES.md marks it as built later; then no SPEC.md may list it.
import './require-node.cjs';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ID = String.raw`[A-Z]{1,4}\d+(?:\.\d+)*|peer-[a-z]`;
const RULE = new RegExp(String.raw`^- \*\*(${ID})\*\* `, 'gm');
const TEST_NAME = new RegExp(String.raw`(?<!\.(?:skip|todo)\(\s*)['"\`]((?:\[(?:${ID})\])+) `, 'g');
const PRODUCT_RULE = new RegExp(String.raw`^- (${ID})( \*\(later\)\*)?$`, 'gm');
const PRODUCT_RULES = 'test/RULES.md';
const LISTS = ['{packages,apps}/*/SPEC.md', 'test/FAULTS.md'];
const TESTS = ['{packages,apps}/*/test/**/*.ts', 'test/**/*.ts', 'examples/**/*.ts'];

const here = dirname(dirname(fileURLToPath(import.meta.url)));
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mismatches = findMismatches(process.argv[2] ?? here);
  for (const mismatch of mismatches) console.error(mismatch);
  if (mismatches.length > 0) process.exitCode = 1;
}

/** Every mismatch as `file: sentence`. */
export function findMismatches(root) {
  const listed = collect(root, LISTS, rulesOf);
  const named = collect(root, TESTS, idsInNames);
  const unproven = [...listed].filter(([id]) => !named.has(id));
  // A tree that lists no rule yet claims nothing.
  const unknown = [...named].filter(([id]) => listed.size > 0 && !listed.has(id));
  const doubled = [...listed].filter(([, files]) => files.length > 1);
  return [
    ...unproven.map(([id, [file]]) => `${file}: no test proves ${id}; begin the name of one with [${id}].`),
    ...unknown.map(
      ([id, [file]]) => `${file}: a test claims to prove ${id}, which no SPEC.md or FAULTS.md lists.`,
    ),
    ...doubled.map(([id, files]) => `${files[0]}: ${id} is listed more than once (${files.join(', ')}).`),
    ...findProductMismatches(root, listed),
  ];
}

/** Product rules that no room lists, and product rules that are marked as built later although a room lists them. */
function findProductMismatches(root, listed) {
  const file = join(root, PRODUCT_RULES);
  if (!fs.existsSync(file)) return [];
  const rules = [...fs.readFileSync(file, 'utf8').matchAll(PRODUCT_RULE)];
  return rules.flatMap(([, id, later]) => {
    const files = [...listed].find(([other]) => other === id || other.startsWith(`${id}.`))?.[1];
    if (later && files)
      return [`${PRODUCT_RULES}: ${id} is marked (later), but ${files[0]} lists it; remove the mark.`];
    if (!later && !files) return [`${PRODUCT_RULES}: no SPEC.md lists ${id}; list it, or mark it (later).`];
    return [];
  });
}

/** id → the files it was found in. */
function collect(root, patterns, idsOf) {
  const found = new Map();
  for (const file of fs.globSync(patterns, { cwd: root }).sort()) {
    for (const id of idsOf(fs.readFileSync(join(root, file), 'utf8'))) {
      found.set(id, [...(found.get(id) ?? []), file]);
    }
  }
  return found;
}

function rulesOf(text) {
  return [...text.matchAll(RULE)].map((match) => match[1]);
}

function idsInNames(text) {
  return [...text.matchAll(TEST_NAME)].flatMap((match) => match[1].slice(1, -1).split(']['));
}
