/** How a language is known: by its files, its grammar, and what makes a project of it. */
export interface Language {
  readonly name: string;
  /** Extension without the dot → the id that the protocol has for it. */
  readonly extensions: Readonly<Record<string, string>>;
  /** Extension → grammar, for outlines and for telling code from comments. */
  readonly grammar: (extension: string) => string | null;
  /** Files that begin a project: one file beneath each must be open before a server knows all of them. */
  readonly projectFiles: readonly string[];
  /** Without a project file the server knows only what is open: then every file with a hit is opened. */
  readonly opensAll: boolean;
  /** It answers only about files that are open. */
  readonly opensAsked: boolean;
  /**
   * What an import names: a file, all files of a folder, or something that a file defines, so that importers of a file cannot all
   * be known by its name.
   */
  readonly imports: 'file' | 'folder' | 'symbol';
  /** What it defines at its top and others can use, by its name and how it begins. */
  readonly isPublic: (name: string, signature: string) => boolean;
  /** Its server takes all uses of a name for uses of the same symbol: each is asked where it leads. */
  readonly listsByName: boolean;
  /** Folders that compilers write: what is found there is looked at last. */
  readonly madeFolders: readonly string[];
}

const only = (grammar: string) => () => grammar;
const same = (id: string, ...extensions: string[]): Record<string, string> =>
  Object.fromEntries(extensions.map((extension) => [extension, id]));

const MADE = ['dist', 'build', 'out', 'target', 'coverage'];

const define = (name: string, language: Partial<Language> & Pick<Language, 'extensions' | 'grammar'>) => ({
  name,
  projectFiles: [],
  opensAll: false,
  opensAsked: true,
  imports: 'symbol' as const,
  isPublic: () => true,
  listsByName: false,
  madeFolders: MADE,
  ...language,
});

export const LANGUAGES: readonly Language[] = [
  define('typescript', {
    extensions: {
      ...same('typescript', 'ts', 'mts', 'cts'),
      ...same('javascript', 'js', 'mjs', 'cjs'),
      tsx: 'typescriptreact',
      jsx: 'javascriptreact',
    },
    grammar: (extension) => (extension.endsWith('ts') ? 'typescript' : 'tsx'),
    projectFiles: ['tsconfig.json', 'jsconfig.json'],
    opensAll: true,
    opensAsked: false,
    imports: 'file',
  }),
  define('python', {
    extensions: same('python', 'py', 'pyi'),
    grammar: only('python'),
    imports: 'file',
    isPublic: (name) => !name.startsWith('_'),
  }),
  define('go', {
    extensions: same('go', 'go'),
    grammar: only('go'),
    projectFiles: ['go.mod'],
    imports: 'folder',
    isPublic: (name) => /^\p{Lu}/u.test(name),
  }),
  define('rust', {
    extensions: same('rust', 'rs'),
    grammar: only('rust'),
    projectFiles: ['Cargo.toml'],
    isPublic: (_, signature) => /^pub\b/.test(signature),
  }),
  define('cpp', {
    extensions: { ...same('c', 'c', 'h'), ...same('cpp', 'cc', 'cpp', 'cxx', 'hh', 'hpp', 'hxx') },
    grammar: only('cpp'),
    projectFiles: ['compile_commands.json'],
    imports: 'file',
    isPublic: (_, signature) => !/^static\b/.test(signature),
  }),
  define('java', {
    extensions: same('java', 'java'),
    grammar: only('java'),
    projectFiles: ['pom.xml', 'build.gradle', 'build.gradle.kts'],
  }),
  define('csharp', { extensions: same('csharp', 'cs'), grammar: only('c-sharp') }),
  define('php', { extensions: same('php', 'php'), grammar: only('php'), projectFiles: ['composer.json'] }),
  define('ruby', {
    extensions: same('ruby', 'rb'),
    grammar: only('ruby'),
    projectFiles: ['Gemfile'],
    imports: 'file',
  }),
  define('bash', {
    extensions: same('shellscript', 'sh', 'bash'),
    grammar: only('bash'),
    imports: 'file',
    listsByName: true,
  }),
];

export const extensionOf = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';

const BY_EXTENSION = new Map(
  LANGUAGES.flatMap((language) =>
    Object.keys(language.extensions).map((extension) => [extension, language] as const),
  ),
);

/** TypeScript, and not JavaScript. */
export const hasTypes = (path: string): boolean => /^[cm]?tsx?$/.test(extensionOf(path));

export const languageOf = (path: string): Language | null => BY_EXTENSION.get(extensionOf(path)) ?? null;

/** What compilers and tools wrote, by the name of its folder. */
export const isMade = (path: string, { madeFolders }: Language): boolean =>
  path.split('/').some((name) => madeFolders.includes(name)) || /\.min\.\w+$/.test(path);
