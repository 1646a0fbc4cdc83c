import { createHash } from 'node:crypto';
import fs, { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPERATORS, type Edit } from './operators.ts';
import { parses, walk } from './syntax.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const ROOMS = ['core', 'stores'] as const;
export type Room = (typeof ROOMS)[number];

/** One mistake in one file. */
export interface Mutant extends Edit {
  /** Made of the changed line and what is changed in it, so that it stays the same when other lines change. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  /** The text in whose place the other is put. */
  readonly was: string;
}

/** Every mutant of the rooms, file by file. */
export function allMutants(rooms: readonly Room[] = ROOMS): Mutant[] {
  const files = rooms.flatMap((room) =>
    fs.globSync(`packages/${room}/src/**/*.ts`, { cwd: ROOT }).toSorted(),
  );
  return files.flatMap((file) => mutantsOf(file, readFileSync(ROOT + file, 'utf8')));
}

export function mutantsOf(file: string, source: string): Mutant[] {
  const mutants: Mutant[] = [];
  const times = new Map<string, number>();
  for (const visit of walk(source)) {
    for (const [operator, edits] of Object.entries(OPERATORS)) {
      for (const edit of edits(visit)) {
        const was = source.slice(edit.start, edit.end);
        const name = nameOf(file, operator, edit, source);
        const nth = (times.get(name) ?? 0) + 1;
        times.set(name, nth);
        const id = nth === 1 ? name : `${name}.${nth}`;
        mutants.push({ id, file, line: lineOf(source, edit.start), operator, ...edit, was });
      }
    }
  }
  return mutants;
}

function nameOf(file: string, operator: string, { start, end, text }: Edit, source: string): string {
  const line = lineAround(source, start);
  const indented = line.text.length - line.text.trimStart().length;
  const column = start - line.start - indented;
  const parts = [file, operator, line.text.trim(), column, source.slice(start, end), text];
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8);
  return `${basename(file, '.ts')}-${hash}`;
}

const lineOf = (source: string, at: number): number => source.slice(0, at).split('\n').length;

function lineAround(source: string, at: number): { readonly start: number; readonly text: string } {
  const start = source.lastIndexOf('\n', at - 1) + 1;
  const end = source.indexOf('\n', at);
  return { start, text: source.slice(start, end < 0 ? source.length : end) };
}

export const apply = (source: string, { start, end, text }: Edit): string =>
  source.slice(0, start) + text + source.slice(end);

/** The source with the mutant in it, or null if that is no program. */
export function plantMutant(mutant: Mutant): string | null {
  const source = readFileSync(ROOT + mutant.file, 'utf8');
  if (source.slice(mutant.start, mutant.end) !== mutant.was)
    throw new Error(`${mutant.file} was changed since its mutants were made. Begin anew with --resume.`);
  const mutated = apply(source, mutant);
  return parses(mutated) ? mutated : null;
}

/** The lines that a mutant changes, before and after. */
export function diffOf(mutant: Mutant): string {
  const source = readFileSync(ROOT + mutant.file, 'utf8');
  const from = lineAround(source, mutant.start).start;
  const last = lineAround(source, mutant.end);
  const to = last.start + last.text.length;
  const before = source.slice(from, to);
  const after = apply(source, mutant).slice(from, to - (mutant.end - mutant.start) + mutant.text.length);
  const marked = (sign: string, text: string): string[] => text.split('\n').map((line) => `${sign} ${line}`);
  return [...marked('-', before), ...marked('+', after)].join('\n');
}

/** A sample that a seed decides. A larger one holds the smaller ones. */
export function sampleOf(mutants: readonly Mutant[], size: number, seed: string): Mutant[] {
  const place = ({ id }: Mutant): string => createHash('sha256').update(`${seed}/${id}`).digest('hex');
  const drawn = mutants
    .map((mutant) => ({ mutant, at: place(mutant) }))
    .toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const sample: Mutant[] = [];
  for (const { mutant } of drawn) {
    if (sample.length === size) break;
    if (plantMutant(mutant) !== null) sample.push(mutant);
  }
  return sample;
}
