import { runProcess } from './process.ts';
import { prctlNumber } from './seccomp.ts';
import { systemProgram } from './system.ts';

/**
 * The parent of a command that no sandbox holds. Whatever the command starts stays below it, however often it forks and
 * whatever session, group or environment it gives itself: the kernel hands orphans to their nearest `subreaper`. When
 * the command has ended, when it is told to (USR1), or when whoever started it is gone, it kills all that is left and
 * ends as the command ended.
 *
 * Arguments: the number of `prctl`; the process that starts it; the command. Numbers: PR_SET_PDEATHSIG 1,
 * PR_SET_CHILD_SUBREAPER 36, SIGKILL 9, SIGUSR1 10, WNOHANG 1.
 *
 * A process that outlives one look of `finish` is the next one's: it loops until it has no children. It does not pause
 * at first, because a process that forks and exits again and again is faster than any pause.
 */
const PERL = String.raw`
my ($prctl, $starter) = (shift, shift);
my @quiet = qw(TERM INT HUP QUIT PIPE ALRM USR2);
my ($self, $main) = ($$, 0);
if (syscall($prctl + 0, 36, 1, 0, 0, 0) != 0) { print STDERR "reveille: subreaper: $!\n"; exit 126 }
$SIG{USR1} = sub { finish(undef) };
syscall($prctl + 0, 1, 10, 0, 0, 0);
exit 137 if getppid != $starter;
$SIG{$_} = "IGNORE" for @quiet;
$main = fork;
if (!defined $main) { print STDERR "reveille: fork: $!\n"; exit 126 }
if ($main == 0) {
  $SIG{$_} = "DEFAULT" for @quiet, "USR1";
  syscall($prctl + 0, 1, 9, 0, 0, 0);
  exit 137 if getppid != $self;
  $ENV{substr $_, 15} = delete $ENV{$_} for grep { /^REVEILLE_LATER_/ } keys %ENV;
  { exec { $ARGV[0] } @ARGV }
  my $missing = $! == 2 ? 127 : 126;
  print STDERR "reveille: $ARGV[0]: $!\n";
  exit $missing;
}
open(STDIN, "<", "/dev/null"); open(STDOUT, ">", "/dev/null"); open(STDERR, ">", "/dev/null");
while (1) {
  my $gone = waitpid(-1, 0);
  finish($?) if $gone == $main;
  finish(undef) if $gone < 0;
}

sub finish {
  my $status = shift;
  $SIG{USR1} = "IGNORE";
  for (my $round = 0; ; $round++) {
    kill 9, children();
    my $gone;
    while (($gone = waitpid(-1, 1)) > 0) { $status = $? if $gone == $main && !defined $status }
    last if $gone < 0;
    select(undef, undef, undef, 0.002) if $round > 500;
  }
  my $signal = ($status // 9) & 127;
  if ($signal == 9 || $signal == 15 || $signal == 2) { $SIG{TERM} = $SIG{INT} = "DEFAULT"; kill $signal, $self; sleep 1 }
  exit($signal ? 128 + $signal : $status >> 8);
}

sub children {
  if (open(my $list, "<", "/proc/$self/task/$self/children")) { return split " ", <$list> // "" }
  opendir(my $all, "/proc") or return;
  return grep { /^\d+$/ && open(my $stat, "<", "/proc/$_/stat") && (<$stat> // "") =~ /.*\) \S (\d+)/s && $1 == $self } readdir $all;
}
`;

/** Starts commands below a keeper. */
export interface Keeper {
  readonly argv: (command: readonly string[]) => readonly string[];
}

const TRIAL_MS = 60_000;

let known: Promise<Keeper | null> | undefined;

/** Tried out once for a process; null where it cannot be had: no Linux, no Perl, an unknown architecture. */
export function findKeeper(): Promise<Keeper | null> {
  return (known ??= look());
}

async function look(): Promise<Keeper | null> {
  const [perl, prctl] = [systemProgram('perl'), prctlNumber()];
  if (process.platform !== 'linux' || perl === null || prctl === null) return null;
  const argv = (command: readonly string[]): readonly string[] => [
    perl,
    '-e',
    PERL,
    String(prctl),
    String(process.pid),
    ...command,
  ];
  const start = {
    argv: argv(['/bin/sh', '-c', 'exit 7']),
    env: { PERL_BADLANG: '0' },
    cwd: '/',
    status: false,
  };
  const { code } = await runProcess(start, { timeoutMs: TRIAL_MS });
  return code === 7 ? { argv } : null;
}

/** Has a keeper kill everything below it, and itself, also one that somebody has stopped. */
export function endKept(pid: number): void {
  for (const signal of ['SIGUSR1', 'SIGCONT'] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
  }
}
