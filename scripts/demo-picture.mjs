// Makes docs/demo.svg, the picture in the README, from a real run of the demo: its own frames, drawn for a terminal
// of 100 columns, some of them kept and shown one after the other.
//   node --conditions=source scripts/demo-picture.mjs
import './require-node.cjs';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { coloured } from '../apps/cli/src/ansi.ts';
import { drawFrame } from '../apps/cli/src/demo/frame.ts';
import { look } from '../apps/cli/src/demo/picture.ts';
import { setUp } from '../apps/cli/src/demo/stage.ts';
import { story } from '../apps/cli/src/demo/story.ts';

const SIZE = { columns: 100, rows: 40 };
const CELL = { width: 7.8, height: 18.5 };
const MARGIN = { x: 18, top: 50, bottom: 14 };
const SHORTEST_MS = 650;
const LAST_MS = 5_000;
const COLOURS = {
  1: '#f0f6fc',
  2: '#848d97',
  31: '#ff7b72',
  32: '#56d364',
  33: '#e3b341',
  34: '#58a6ff',
  35: '#bc8cff',
  36: '#56d4dd',
};

const ids = new Map();
const frames = await film();
writeFileSync(join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs', 'demo.svg'), draw(frames));

/** The frames worth keeping: those in which something became different, each shown long enough to be read. */
async function film() {
  const stage = await setUp({ told: story(1), keep: false, happened: () => undefined });
  try {
    const kept = [];
    for (;;) {
      const picture = await look(stage);
      const frame = {
        at: picture.elapsed,
        lines: drawFrame(picture, { ...SIZE, backend: null }, coloured),
        shape: shapeOf(picture),
      };
      const last = kept.at(-1);
      if (!last || (last.shape !== frame.shape && frame.at - last.at >= SHORTEST_MS)) kept.push(frame);
      if (picture.plan.state !== 'active') return [...kept, frame];
      await sleep(50);
    }
  } finally {
    await stage.close();
  }
}

function shapeOf({ rows }) {
  return JSON.stringify(rows.map(({ state, why, attempt }) => [state, why, attempt]));
}

function draw(all) {
  const total = all.at(-1).at + LAST_MS;
  const lines = Math.max(...all.map((frame) => frame.lines.length));
  const width = Math.ceil(SIZE.columns * CELL.width + 2 * MARGIN.x);
  const height = Math.ceil(lines * CELL.height + MARGIN.top + MARGIN.bottom);
  const share = (ms) => `${((ms / total) * 100).toFixed(2)}%`;
  const styles = all.map(({ at }, i) => {
    const from = i === 0 ? 0 : at;
    const until = all[i + 1] ? `${share(all[i + 1].at)}{visibility:hidden}` : '';
    return `@keyframes k${i}{0%{visibility:${i === 0 ? 'visible' : 'hidden'}}${share(from)}{visibility:visible}${until}}#f${i}{animation-name:k${i}}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A run of the Reveille demo in a terminal">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#c9d1d9}
.f{visibility:hidden;animation:${(total / 1_000).toFixed(1)}s step-end infinite}
#f${all.length - 1}{visibility:visible}
${styles.join('\n')}
@media (prefers-reduced-motion:reduce){.f{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="9" fill="#0d1117"/>
<path d="M9 0h${width - 18}a9 9 0 0 1 9 9v23H0V9a9 9 0 0 1 9-9z" fill="#161b22"/>
<circle cx="19" cy="16" r="5" fill="#484f58"/><circle cx="37" cy="16" r="5" fill="#484f58"/><circle cx="55" cy="16" r="5" fill="#484f58"/>
<text x="${width / 2}" y="20.5" text-anchor="middle" style="fill:#848d97">npm start</text>
<defs>
${[...new Set(all.flatMap((frame) => frame.lines))].map((line) => `<g id="${idOf(line)}">${drawLine(line)}</g>`).join('\n')}
</defs>
${all.map((frame, i) => `<g class="f" id="f${i}">${frame.lines.map(placeLine).join('')}</g>`).join('\n')}
</svg>
`;
}

/** Most lines are the same in many frames: each is drawn once and placed where it belongs. */
function placeLine(line, row) {
  if (line === '') return '';
  return `<use href="#${idOf(line)}" y="${(MARGIN.top + 11 + row * CELL.height).toFixed(1)}"/>`;
}

function idOf(line) {
  if (!ids.has(line)) ids.set(line, `l${ids.size}`);
  return ids.get(line);
}

/** Every piece is put on the grid and made as wide as its cells, so that columns stay columns in any font. */
function drawLine(line) {
  let column = 0;
  let colour = 0;
  const pieces = [];
  // oxlint-disable-next-line no-control-regex -- colours are such codes
  for (const part of line.split(/(\u001b\[\d+m)/)) {
    if (part.startsWith('\u001b[')) {
      colour = Number.parseInt(part.slice(2), 10);
      continue;
    }
    for (const { 0: words, index } of part.matchAll(/\S+(?: \S+)*/g)) {
      const x = (MARGIN.x + (column + Array.from(part.slice(0, index)).length) * CELL.width).toFixed(1);
      const length = Array.from(words).length;
      const stretch = length > 1 ? ` textLength="${(length * CELL.width).toFixed(1)}"` : '';
      const fill = COLOURS[colour]
        ? ` style="fill:${COLOURS[colour]}${colour === 1 ? ';font-weight:600' : ''}"`
        : '';
      pieces.push(`<text x="${x}"${stretch}${fill}>${escape(words)}</text>`);
    }
    column += Array.from(part).length;
  }
  return pieces.join('');
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
