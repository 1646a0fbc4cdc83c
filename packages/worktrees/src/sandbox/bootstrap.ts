import type { Limits } from './confinement.ts';
import { callNumber, filterProgram, prctlNumber } from './seccomp.ts';

/**
 * What runs first inside the sandbox and then becomes the command: it closes every descriptor it was handed but the
 * three, sets the limits, cuts off this machine's abstract sockets, leaves the person's session keyring for an empty one,
 * closes system calls that nobody needs (seccomp.ts), listens where the doors are to be found, and gives variables that act
 * early (env.ts) their names back. It is Perl because Perl is there wherever git is, starts in 2 ms
 * (Node: 40 ms, for every command), and can make system calls.
 *
 * Arguments: `1` to cut off abstract sockets or `0`; `call:resource=value,resource=value…` or ``;
 * `keyctl:prctl:filter in hex` or ``; `port=socket,port=socket…` or ``; then the command.
 * Numbers: 444 and 446 are landlock_create_ruleset and landlock_restrict_self on every architecture; 1 is
 * LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (Linux 6.12); AF_UNIX 1, AF_INET 2, SOCK_STREAM 1; KEYCTL_JOIN_SESSION_KEYRING 1;
 * PR_SET_SECCOMP 22, SECCOMP_MODE_FILTER 2. A keyring may be refused, where the kernel has none or the user has too many:
 * the filter closes the old one all the same.
 *
 * The listening relay is the child of a child, so that the command does not find a child it never had. It listens
 * before the command starts. It does not end on TERM: the command may want to say a last word. It dies with the
 * sandbox.
 */
const PERL = String.raw`
my ($scope, $limits, $filter, $doors) = (shift, shift, shift, shift);
sub fail { print STDERR "reveille: $_[0]: $!\n"; exit 126 }
opendir(my $dir, "/proc/self/fd") or fail("descriptors");
for my $n (grep { /^\d+$/ && $_ > 2 } readdir $dir) { next if $n == fileno $dir; open(my $h, "<&=", $n) and close $h }
closedir $dir;
my ($call, $each) = split /:/, $limits;
for (split /,/, $each) {
  my ($resource, $value) = split /=/;
  my $both = pack("Q2", $value, $value);
  fail("limit $resource") if syscall($call + 0, 0, $resource + 0, $both, 0) != 0;
}
if ($scope) {
  my $attr = pack("Q3", 0, 0, 1);
  my $rules = syscall(444, $attr, 24, 0);
  fail("landlock") if $rules < 0;
  fail("landlock") if syscall(446, $rules, 0) != 0;
  open(my $h, "<&=", $rules) and close $h;
}
if ($filter) {
  my ($keyctl, $prctl, $hex) = split /:/, $filter;
  syscall($keyctl + 0, 1, 0);
  my $code = pack("H*", $hex);
  my $program = pack("S x6 P", length($code) / 8, $code);
  fail("seccomp") if syscall($prctl + 0, 22, 2, $program, 0, 0) != 0;
}
my @doors;
for (split /,/, $doors) {
  my ($port, $path) = split /=/, $_, 2;
  my $l;
  socket($l, 2, 1, 0) && bind($l, pack("S n a4 x8", 2, $port, "\x7f\0\0\1")) && listen($l, 64) or fail("port $port");
  push @doors, [$l, $path];
}
if (@doors) {
  my $child = fork; fail("fork") unless defined $child;
  if ($child == 0) {
    exit 0 if fork;
    $SIG{$_} = "IGNORE" for qw(TERM INT HUP PIPE CHLD);
    open(STDIN, "<", "/dev/null"); open(STDOUT, ">", "/dev/null"); open(STDERR, ">", "/dev/null");
    relay();
  }
  waitpid($child, 0);
  close $_->[0] for @doors;
}
$ENV{substr $_, 15} = delete $ENV{$_} for grep { /^REVEILLE_LATER_/ } keys %ENV;
{ exec { $ARGV[0] } @ARGV }
my $missing = $! == 2 ? 127 : 126;
print STDERR "reveille: $ARGV[0]: $!\n";
exit $missing;

sub relay {
  my $want = ""; vec($want, fileno $_->[0], 1) = 1 for @doors;
  while (1) {
    next if select(my $ready = $want, undef, undef, undef) < 0;
    for my $door (@doors) {
      next unless vec($ready, fileno $door->[0], 1);
      accept(my $client, $door->[0]) or next;
      my $pid = fork;
      if (defined $pid && $pid == 0) { close $_->[0] for @doors; carry($client, $door->[1]); exit 0 }
      close $client;
    }
  }
}

sub carry {
  my ($client, $path) = @_;
  my $server;
  socket($server, 1, 1, 0) && connect($server, pack("S a108", 1, $path)) or return;
  my %to = (fileno $client => [$client, $server], fileno $server => [$server, $client]);
  while (%to) {
    my $want = ""; vec($want, $_, 1) = 1 for keys %to;
    next if select(my $ready = $want, undef, undef, undef) < 0;
    for my $n (grep { vec($ready, $_, 1) } keys %to) {
      my ($from, $into) = @{$to{$n}};
      my $got = sysread($from, my $data, 65536);
      if (!$got) { shutdown($into, 1); delete $to{$n}; next }
      for (my $at = 0; $at < $got;) { my $put = syswrite($into, $data, $got - $at, $at); return unless $put; $at += $put }
    }
  }
}
`;

/** The same doors where there is no Perl. It stays, as the parent of the command, and ends as the command ends. */
const NODE = String.raw`
const { spawn } = require('node:child_process');
const net = require('node:net');
const [doors, ...command] = process.argv.slice(1);
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
const listening = doors.split(',').map((door) => {
  const [port, path] = [door.slice(0, door.indexOf('=')), door.slice(door.indexOf('=') + 1)];
  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    const beyond = net.connect({ path, allowHalfOpen: true });
    for (const [from, to] of [[client, beyond], [beyond, client]]) {
      from.pipe(to);
      from.on('error', () => from.destroy());
      from.once('close', () => to.destroySoon());
    }
  });
  return new Promise((resolve, reject) => server.once('error', reject).listen(Number(port), '127.0.0.1', resolve));
});
Promise.all(listening).then(() => {
  const child = spawn(command[0], command.slice(1), { stdio: 'inherit' });
  child.once('error', (error) => {
    console.error('reveille: ' + command[0] + ': ' + error.message);
    process.exit(error.code === 'ENOENT' ? 127 : 126);
  });
  child.once('exit', (code, signal) => process.exit(signal ? 128 + require('node:os').constants.signals[signal] : code));
}, (error) => {
  console.error('reveille: ' + error.message);
  process.exit(126);
});
`;

export interface Bootstrap {
  readonly perl: string | null;
  /** A program that sets limits, for where Perl cannot. */
  readonly prlimit: string | null;
  readonly node: string;
  readonly limits: Limits;
  /** Whether abstract sockets are to be cut off. */
  readonly scope: boolean;
  /** Which system calls are to be closed: all that nobody needs, or those that a sandbox within needs neither. */
  readonly filter: 'all' | 'nested' | 'none';
  /** Port inside → socket inside. */
  readonly doors: readonly (readonly [port: number, socket: string])[];
}

/** The system call prlimit64, which has a number of its own on older architectures. */
const PRLIMIT64: Partial<Record<NodeJS.Architecture, number>> = {
  x64: 302,
  arm64: 261,
  riscv64: 261,
  s390x: 334,
};

/** Whether limits can be set at all. */
export function canLimit({ perl, prlimit }: Pick<Bootstrap, 'perl' | 'prlimit'>): boolean {
  return prlimit !== null || (perl !== null && process.arch in PRLIMIT64);
}

/** The command with its bootstrap in front of it. */
export function bootstrapped(command: readonly string[], bootstrap: Bootstrap): string[] {
  const { perl, prlimit, node, limits, scope, filter, doors } = bootstrap;
  const call = perl === null ? undefined : PRLIMIT64[process.arch];
  const list = doors.map(([port, socket]) => `${port}=${socket}`).join(',');
  return [
    ...(call === undefined && prlimit !== null ? [prlimit, ...limitOptions(limits), '--'] : []),
    ...(perl === null
      ? []
      : [
          perl,
          '-e',
          PERL,
          scope ? '1' : '0',
          call === undefined ? '' : limitCalls(call, limits),
          filter === 'none' ? '' : filterArgument(filter === 'nested'),
          list,
        ]),
    ...(perl === null && doors.length > 0 ? [node, '-e', NODE, list] : []),
    ...command,
  ];
}

function filterArgument(nested: boolean): string {
  const program = filterProgram(nested);
  return program === null ? '' : `${callNumber('keyctl')}:${prctlNumber()}:${program.toString('hex')}`;
}

/** RLIMIT_CORE, NPROC, DATA, FSIZE, NOFILE. */
function limitCalls(call: number, { processes, memoryBytes, fileBytes, openFiles }: Limits): string {
  return `${call}:4=0,6=${processes},2=${memoryBytes},1=${fileBytes},7=${openFiles}`;
}

function limitOptions({ processes, memoryBytes, fileBytes, openFiles }: Limits): string[] {
  return [
    '--core=0',
    `--nproc=${processes}`,
    `--data=${memoryBytes}`,
    `--fsize=${fileBytes}`,
    `--nofile=${openFiles}`,
  ];
}
