import { dirname, isAbsolute } from 'node:path';
import { ReveilleError } from '@reveille/protocol';

/** What of our own environment a confined process may know: how to speak, not who we are. */
const PASSED = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|NO_COLOR|USER|LOGNAME|SHELL)$/;

/**
 * Variables that act before a program's `main`: the loader's, the C library's, Perl's. In bubblewrap's own environment they
 * would act outside, and in the bootstrap's before it has closed what it closes.
 */
const EARLY =
  /^(?:LD_|GLIBC_|MALLOC_|GCONV_|LOCPATH$|NLSPATH$|GETCONF_|HOSTALIASES$|RES_OPTIONS$|LOCALDOMAIN$|PERL5|PERLLIB$)/;

/** The bootstrap takes this away again when it becomes the command. */
export const LATER = 'REVEILLE_LATER_';

export interface EnvParts {
  readonly outer: NodeJS.ProcessEnv;
  readonly path: readonly string[];
  readonly home: string;
  /** Where the proxy is to be found inside. */
  readonly proxyPort: number | null;
  /** Whether git may take a lock only to save time: not where it cannot write. */
  readonly locks: boolean;
  readonly extra: Readonly<Record<string, string>>;
}

/** Of our own path what can be seen inside, and our own Node's folder: it is there, and may be the only one. */
export function pathInside(outer: NodeJS.ProcessEnv, isVisible: (folder: string) => boolean): string[] {
  const folders = [...(outer['PATH'] ?? '/usr/bin:/bin').split(':'), dirname(process.execPath)];
  return [...new Set(folders)].filter((folder) => isAbsolute(folder) && isVisible(folder));
}

/** The whole environment of a confined process. */
export function innerEnv({ outer, path, home, proxyPort, locks, extra }: EnvParts): Record<string, string> {
  const env = {
    ...Object.fromEntries(
      Object.entries(outer).flatMap(([name, value]) =>
        value !== undefined && PASSED.test(name) ? [[name, value]] : [],
      ),
    ),
    PATH: path.join(':'),
    HOME: home,
    TMPDIR: '/tmp',
    ...(locks ? {} : { GIT_OPTIONAL_LOCKS: '0' }),
    ...(proxyPort === null ? {} : proxyEnv(proxyPort)),
    // The bootstrap is Perl, which otherwise complains about a locale it does not find, in the command's output.
    PERL_BADLANG: '0',
    ...extra,
  };
  for (const [name, value] of Object.entries(env)) checkVariable(name, value);
  return env;
}

function proxyEnv(port: number): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  const direct = 'localhost,127.0.0.1,::1';
  return {
    ...Object.fromEntries(
      ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, url]),
    ),
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: '1',
  };
}

function checkVariable(name: string, value: string): void {
  if (name !== '' && !name.includes('=') && !`${name}${value}`.includes('\0')) return;
  throw new ReveilleError('invalid_input', `The environment variable ${JSON.stringify(name)} cannot be set.`);
}

/**
 * What bubblewrap is started with, which it hands on; and what it must be told to set. Where there is a bootstrap that gives
 * them their names back, early variables are handed on under another name.
 */
export function splitEnv(
  env: Readonly<Record<string, string>>,
  hasBootstrap: boolean,
): { readonly started: Record<string, string>; readonly told: Record<string, string> } {
  const entries = Object.entries(env);
  const early = entries.filter(([name]) => EARLY.test(name));
  const started = Object.fromEntries(entries.filter(([name]) => !EARLY.test(name)));
  if (!hasBootstrap) return { started, told: Object.fromEntries(early) };
  const renamed = Object.fromEntries(early.map(([name, value]) => [`${LATER}${name}`, value]));
  return { started: { ...started, ...renamed }, told: {} };
}
