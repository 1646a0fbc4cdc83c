import type { CodeLine, Coverage, ToolNavigation } from '@reveille/protocol';

const SURE: Coverage = { found: 'semantic', complete: true, notes: [], uncovered: [] };
export const UNSURE: Coverage = {
  found: 'text',
  complete: false,
  notes: ['the server is still loading'],
  uncovered: [{ reason: 'in a comment', count: 2, places: [place('src/a.ts', 1)] }],
};

function place(path: string, line: number): CodeLine {
  return { path, line, column: 1, text: `line ${line} of ${path}` };
}

const definition = (path: string, container: string | null) => ({
  ...place(path, 2),
  name: 'area',
  kind: 'method',
  container,
  signature: `area(): number`,
  doc: 'How large it is.',
  exported: true,
  outside: false,
});

/** Navigation on paper: what it was asked, and what the test says is there. */
export function paper(answers: { readonly coverage?: Coverage; readonly usages?: readonly number[] } = {}) {
  const asked: unknown[] = [];
  const { coverage = SURE, usages = [2, 3, 4] } = answers;
  const navigation: ToolNavigation = {
    definitions: async (ask, { waitMs }) => {
      asked.push({ ...ask, waitMs });
      return {
        ...coverage,
        definitions: [definition('src/circle.ts', 'Circle'), definition('src/square.ts', 'Square')],
      };
    },
    usages: async (ask) => {
      asked.push(ask);
      const all = usages.map((line) => place('lines.txt', line));
      return { ...coverage, definitions: [place('src/circle.ts', 2)], usages: all };
    },
    module: async () => ({
      ...coverage,
      path: 'src/circle.ts',
      exports: [
        {
          ...place('src/circle.ts', 2),
          name: 'Circle',
          kind: 'class',
          signature: 'class Circle',
          doc: 'Round.',
          from: null,
        },
      ],
      imports: [{ line: 1, specifier: './shape', path: 'src/shape.ts', names: ['Shape'] }],
      importers: [place('src/main.ts', 1)],
    }),
    outline: async ({ path }) => ({
      ...coverage,
      path,
      entries: [{ ...place(path, 3), name: 'Circle', kind: 'class', endLine: 9, depth: 0 }],
    }),
    typeOf: async ({ file }) => ({
      ...coverage,
      place: place(file, 4),
      signature: 'const x: number',
      doc: null,
    }),
  };
  return { navigation, asked };
}
