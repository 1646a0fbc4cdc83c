import { SUPERVISED_BY, type SupervisedBy } from './supervision/record.ts';

/** What the process of a daemon is started with. */
export interface StartArguments {
  /** Settings, as `--set engine.concurrency=4` gives them. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether an earlier daemon died and its supervisor starts this one; why that daemon ended, if so. */
  readonly restart: { readonly count: number; readonly why: string } | null;
  /** The descriptor on which a start that fails says why; null: whoever started it does not listen. */
  readonly failuresTo: number | null;
  /** The service manager that starts it again when it dies; null: it gets a supervisor of its own. */
  readonly supervisedBy: Exclude<SupervisedBy, 'reveille' | 'nobody'> | null;
}

export function startArguments(argv: readonly string[]): StartArguments {
  const after = (name: string): string[] => argv.filter((_, i) => argv[i - 1] === name);
  const [count] = after('--restarts');
  const [failuresTo] = after('--failures-to');
  const [supervisedBy] = after('--supervised-by');
  return {
    settings: Object.fromEntries(
      after('--set').map((text) => [text.split('=', 1)[0] ?? '', text.slice(text.indexOf('=') + 1)]),
    ),
    restart: count === undefined ? null : { count: Number(count), why: after('--ended')[0] ?? '' },
    failuresTo: failuresTo === undefined ? null : Number(failuresTo),
    supervisedBy: SUPERVISED_BY.managers.find((name) => name === supervisedBy) ?? null,
  };
}

/** What the next daemon is given of them: the settings. */
export const settingArguments = ({ settings }: Pick<StartArguments, 'settings'>): string[] =>
  Object.entries(settings).flatMap(([path, value]) => ['--set', `${path}=${value}`]);
