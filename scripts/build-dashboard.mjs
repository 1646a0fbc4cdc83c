// Builds the dashboard into apps/dashboard/dist if it is not there, or is older than its sources: `npm run dashboard`.
// Runs before `npm start`, `npm test` and `npm pack`; returns at once when there is nothing to do.
import './require-node.cjs';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const room = join(root, 'apps', 'dashboard');
const dist = join(room, 'dist');
const stampFile = join(dist, '.stamp');

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildDashboard();

/** Built beside and then put in place: whoever is served meanwhile gets the old one or the new one. */
export async function buildDashboard() {
  const stamp = wantedStamp();
  if (fs.existsSync(stampFile) && fs.readFileSync(stampFile, 'utf8') === stamp) return;
  const started = performance.now();
  const made = fs.mkdtempSync(join(room, '.dist-'));
  const old = `${made}.old`;
  try {
    await buildInto(made);
    fs.writeFileSync(join(made, '.stamp'), stamp);
    fs.chmodSync(made, 0o755);
    if (fs.existsSync(dist)) fs.renameSync(dist, old);
    fs.renameSync(made, dist);
  } catch (error) {
    // Somebody else built it at the same time, of the same sources.
    if (!fs.existsSync(stampFile) || fs.readFileSync(stampFile, 'utf8') !== stamp) throw error;
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
    fs.rmSync(old, { recursive: true, force: true });
  }
  console.log(`Built the dashboard in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

async function buildInto(outDir) {
  const { build } = await import('vite');
  const at = { root: room, configFile: join(room, 'vite.config.ts'), logLevel: 'warn' };
  await build({ ...at, build: { outDir, emptyOutDir: false } });
  await buildBubble(build, at, outDir);
}

/** The bubble as one file that loads nothing: its script and its styles are in it, and nothing else may be. */
async function buildBubble(build, at, outDir) {
  const input = join(room, 'src', 'bubble', 'main.tsx');
  const made = await build({
    ...at,
    build: { write: false, cssCodeSplit: false, rolldownOptions: { input, output: { format: 'iife' } } },
  });
  const { output } = Array.isArray(made) ? made[0] : made;
  const script = output.find(({ type }) => type === 'chunk').code.trim();
  const style = String(output.find(({ fileName }) => fileName.endsWith('.css')).source).trim();
  const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const csp = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
  if (/<\/(script|style)/i.test(script + style)) throw new Error('the bubble cannot be put into one file');
  fs.writeFileSync(
    join(outDir, 'bubble.html'),
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Reveille</title><meta http-equiv="Content-Security-Policy" content="${csp}"><style>${style}</style></head><body><script>${script}</script></body></html>\n`,
  );
}

/** What it is made of: its own sources, those of the protocol, and the versions of everything else. */
function wantedStamp() {
  const files = fs.globSync(
    [
      'apps/dashboard/{src/**/*,public/*,index.html,vite.config.ts,package.json}',
      'packages/protocol/src/**/*.ts',
      'package-lock.json',
    ],
    { cwd: root },
  );
  const hash = createHash('sha256');
  for (const file of files.sort()) {
    const path = join(root, file);
    if (fs.statSync(path).isFile()) hash.update(file).update(fs.readFileSync(path));
  }
  return hash.digest('hex');
}
