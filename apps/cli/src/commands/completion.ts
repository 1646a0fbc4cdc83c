import { command, COMMON, type Command, type Options } from '../command/spec.ts';
import { UsageError } from '../usage.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Made from the table that it is part of. */
export const completionOf = (commands: () => readonly Command[]) =>
  command({
    name: 'completion',
    group: 'Begin',
    summary: 'prints a script that completes commands and options in your shell',
    usage: '<bash|zsh|fish>',
    about: `bash: source <(reveille completion bash)
zsh:  source <(reveille completion zsh)
fish: reveille completion fish | source`,
    options: {},
    json: '{ shell, script }',
    async run(call) {
      const shell = SHELLS.find((name) => name === call.args[0]);
      if (!shell)
        throw new UsageError(
          `There are scripts for ${SHELLS.join(', ')}, not for "${(call.args[0] ?? '').slice(0, 20)}".`,
          'completion',
        );
      const script = SCRIPTS[shell](commands());
      call.io.out.write(call.options.json ? `${JSON.stringify({ shell, script }, null, 2)}\n` : script);
    },
  });

/** The first words there are, the second words of each, and the options of each command. */
interface Words {
  readonly first: readonly string[];
  readonly second: ReadonlyMap<string, readonly string[]>;
  readonly options: ReadonlyMap<string, readonly string[]>;
}

function wordsOf(commands: readonly Command[]): Words {
  const names = commands.map(({ name }) => name.split(' '));
  const first = [...new Set(names.map(([word = '']) => word)), 'help'];
  const grouped = Map.groupBy(
    names.filter(({ length }) => length > 1),
    ([word = '']) => word,
  );
  const second = new Map([...grouped].map(([word, members]) => [word, members.map(([, verb = '']) => verb)]));
  const options = commands.map(
    ({ name, options: own }) =>
      [name, Object.keys({ ...own, ...COMMON }).map((option) => `--${option}`)] as const,
  );
  return { first, second, options: new Map(options) };
}

/** Where a word may be a file; others are plans, tasks and words, for which files are no help. */
const withFiles = (commands: readonly Command[]): Command[] =>
  commands.filter(({ usage }) => usage.includes('<file'));

/** In zsh through its own reading of bash's scripts. */
function bash(commands: readonly Command[]): string {
  const { first, second, options } = wordsOf(commands);
  const cases = [...second].map(([word, verbs]) => `    ${word}) words="${verbs.join(' ')}" ;;`);
  const files = withFiles(commands)
    .map(({ name }) => `"${name}"`)
    .join('|');
  const optionCases = [...options].map(([name, all]) => `    "${name}") words="${all.join(' ')}" ;;`);
  return `# Completes reveille. It names no plans or tasks: those change.
_reveille() {
  local current="\${COMP_WORDS[COMP_CWORD]}" first="\${COMP_WORDS[1]}" words="" command=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${first.join(' ')}" -- "$current"))
    return
  fi
  case "$first" in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  command="$first"
  [ -n "$words" ] && command="$first \${COMP_WORDS[2]}"
  words=""
  case "$command" in
${optionCases.join('\n')}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) case "$command" in
      ${files}) COMPREPLY=($(compgen -f -- "$current")) ;;
    esac ;;
  esac
}
complete -o filenames -F _reveille reveille
`;
}

const zsh = (commands: readonly Command[]): string =>
  `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`;

function fish(commands: readonly Command[]): string {
  const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  const { second } = wordsOf(commands);
  const groups = [...second.keys()];
  const lines = commands.flatMap((one) => {
    const [word = '', verb] = one.name.split(' ');
    const seen =
      verb === undefined
        ? `__fish_seen_subcommand_from ${word}`
        : `__fish_seen_subcommand_from ${word}; and __fish_seen_subcommand_from ${verb}`;
    const itself =
      verb === undefined
        ? `complete -c reveille -n __fish_use_subcommand -a ${word} -d ${quoted(one.summary)}`
        : `complete -c reveille -n '__fish_seen_subcommand_from ${word}; and test (count (commandline -opc)) -eq 2' -a ${verb} -d ${quoted(one.summary)}`;
    const known: Options = { ...one.options, ...COMMON };
    const options = Object.entries(known).map(([option, { short, type, means }]) => {
      const letter = short === undefined ? '' : ` -s ${short}`;
      return `complete -c reveille -n '${seen}' -l ${option}${letter}${type === 'boolean' ? '' : ' -r'} -d ${quoted(means)}`;
    });
    const noFiles = one.usage.includes('<file') ? [] : [`complete -c reveille -n '${seen}' -f`];
    return [itself, ...noFiles, ...options];
  });
  const heads = groups.map((group) => `complete -c reveille -n __fish_use_subcommand -a ${group}`);
  return `${['# Completes reveille.', ...heads, ...lines].join('\n')}\n`;
}

const SCRIPTS = { bash, zsh, fish } as const;
