import { simulate } from './simulate.ts';
import { describe, expand } from './options.ts';
const [a,b] = [Number(process.argv[2]), Number(process.argv[3] ?? process.argv[2])];
const t=performance.now(); let n=0, v=0, ev=0, st=0; const fails = new Map<string, string[]>();
for (let s=a; s<=b; s++) { if (a===b) console.log(describe(expand(s)));
  const r = await simulate(s, a===b ? { trace: console.log } : {}); n++; v+=r.virtualMs; ev+=r.events; st+=r.steps;
  if (r.failure) { const k = r.failure.invariant; const l = fails.get(k) ?? []; l.push(`${s}: ${r.failure.message.slice(0,300)}`); fails.set(k,l); } }
for (const [k,l] of fails) { console.log(`== ${k}: ${l.length}`); for (const x of l.slice(0,6)) console.log('   ', x); }
console.log(n, 'seeds', (n/((performance.now()-t)/1000)).toFixed(0),'/s', (v/3600000).toFixed(1),'h', 'events/seed', (ev/n).toFixed(0), 'steps/seed', (st/n).toFixed(0));
