import type { Confinement } from '../sandbox/confinement.ts';
import { callNumber } from '../sandbox/seccomp.ts';

/**
 * Something a confined process tries. It is a script for the shell inside, which knows the scene's places by the environment.
 * It has broken out if it prints the secret or `ESCAPED`, or if anything outside is not as it was.
 *
 * Every one of them must be harmless if it succeeds, also to the machine: what belongs to the system is opened and not
 * written, or made and removed again.
 */
export interface Attack {
  readonly name: string;
  readonly script: string;
  readonly changes?: Partial<Confinement>;
  /** Programs without which nothing is tried. */
  readonly needs?: readonly string[];
  /** It succeeds where there is no sandbox: so it can succeed. Not said of those that touch the system. */
  readonly bites?: boolean;
  /** What keeps it in is what a run takes together: it is tried only where that is measured. */
  readonly sums?: boolean;
  /** What keeps it in is not to be had everywhere. */
  readonly unless?: readonly Gap[];
}

/**
 * Root is not counted; limits need a program to set them; abstract sockets need a newer kernel, and Perl; so do closed
 * system calls need Perl, and an architecture whose calls are known.
 */
export type Gap = 'root' | 'no limits' | 'no scope' | 'no filter';

/** Prints what answers: at `@name` an abstract socket, at a number a port of this machine, else a socket in a folder. */
const CONNECT = String.raw`perl -e '
my ($to, $socket) = @ARGV;
my $unix = $to !~ /^\d+$/;
my $address = $unix ? pack("S a*", 1, $to =~ s/^@/\0/r) : pack("S n a4 x8", 2, $to, "\x7f\0\0\1");
socket($socket, $unix ? 1 : 2, 1, 0) && connect($socket, $address) or die "$!\n";
syswrite $socket, "GET / HTTP/1.0\r\n\r\n"; print while <$socket>;
'`;

const call = (name: string): number => callNumber(name) ?? -1;

/** Prints ESCAPED if the kernel looks at the arguments of a call, which are wrong, instead of refusing the call (EPERM, ENOSYS). */
const CALLS = String.raw`perl -e 'for (@ARGV) { syscall($_ + 0, -1, 0, 0, 0, 0); print "ESCAPED $_
" if $! != 1 && $! != 38 }'`;

const FILES: readonly Attack[] = [
  { name: 'read the person’s checkout', script: 'cat "$PERSON/secret.txt"', bites: true },
  {
    name: 'write to the person’s checkout',
    script: 'echo x > "$PERSON/a.txt"; echo x > "$PERSON/new.txt"',
    bites: true,
  },
  {
    name: 'make a folder in the person’s checkout',
    script: 'mkdir -p "$PERSON/src" && echo ESCAPED',
    bites: true,
  },
  { name: 'delete the person’s checkout', script: 'rm -rf "$PERSON"', bites: true },
  { name: 'read another worktree', script: 'cat "$OTHER/secret.txt"', bites: true },
  {
    name: 'write to another worktree',
    script: 'echo x > "$OTHER/secret.txt"; mkdir -p "$OTHER/new"',
    bites: true,
  },
  { name: 'list the worktrees', script: 'ls "$OTHER/.." | grep -vx mine && echo ESCAPED', bites: true },
  { name: 'read our own records', script: 'cat "$OURS/mine/record.json"', bites: true },
  { name: 'delete our own records', script: 'rm -rf "$OURS"', bites: true },
  { name: 'read the home', script: 'cat ~/.ssh/id_ed25519 ~/.bashrc', bites: true },
  {
    name: 'write to the home',
    script: 'echo evil >> ~/.bashrc; mkdir -p ~/.ssh; echo evil > ~/.ssh/authorized_keys',
    bites: true,
  },
  { name: 'read a file elsewhere', script: 'cat "$OUTSIDE"', bites: true },
  {
    name: 'write through a link out of the tree',
    script: 'ln -sf "$PERSON/a.txt" out; echo x > out; ln -sf "$OUTSIDE" out; cat out; echo x > out',
    bites: true,
  },
  {
    name: 'write through a linked folder',
    script: 'ln -sfn "$OTHER" linked; echo x > linked/planted',
    bites: true,
  },
  {
    name: 'link a file of the repository into the tree',
    script:
      'ln "$PERSON/a.txt" stolen && echo ESCAPED; for f in "$PERSON"/.git/objects/??/*; do ln "$f" stolen-object && echo ESCAPED; break; done',
    bites: true,
  },
  {
    name: 'move a file of the repository into the tree',
    script: String.raw`for f in "$PERSON/a.txt" "$PERSON"/.git/objects/??/*; do perl -e 'rename($ARGV[0], "moved") and print "ESCAPED\n"' "$f"; done`,
    needs: ['perl'],
    bites: true,
  },
  {
    name: 'change modes and times outside',
    script:
      'for f in "$PERSON/a.txt" "$PERSON"/.git/objects/??/*; do chmod 777 "$f" && echo ESCAPED; touch "$f" && echo ESCAPED; done',
    bites: true,
  },
  {
    name: 'leave by way of /proc',
    script: 'cat /proc/*/root"$OUTSIDE" /proc/*/cwd/outside.txt /proc/*/task/*/root"$OUTSIDE"',
    bites: true,
  },
];

const GIT: readonly Attack[] = [
  {
    name: 'read the repository’s config',
    script: 'git config --file "$PERSON/.git/config" --list | grep -q . && echo ESCAPED',
    bites: true,
  },
  {
    name: 'set the repository’s config',
    script: 'git config --file "$PERSON/.git/config" core.fsmonitor "touch $OUTSIDE.ran"',
    bites: true,
  },
  {
    name: 'plant a hook',
    script: 'mkdir -p "$PERSON/.git/hooks"; echo "#!/bin/sh" > "$PERSON/.git/hooks/post-checkout"',
    bites: true,
  },
  {
    name: 'move the person’s branch',
    script: 'echo 0000000000000000000000000000000000000001 > "$PERSON/.git/refs/heads/main"',
    bites: true,
  },
  { name: 'push into the repository', script: 'git push -q "$PERSON" HEAD:refs/heads/planted', bites: true },
  {
    name: 'commit in the person’s checkout',
    script: 'git -C "$PERSON" -c user.name=x -c user.email=x@x commit -q --allow-empty -m x',
    bites: true,
  },
  { name: 'delete the shared objects', script: 'rm -rf "$PERSON"/.git/objects/*', bites: true },
  {
    name: 'add to the shared objects',
    script:
      'mkdir -p "$PERSON/.git/objects/zz"; echo x > "$PERSON/.git/objects/zz/x"; echo x > "$PERSON/.git/objects/info/alternates"',
    bites: true,
  },
  {
    name: 'write objects into the repository by git',
    script: 'echo x | GIT_OBJECT_DIRECTORY="$PERSON/.git/objects" git hash-object -w --stdin',
    bites: true,
  },
  {
    name: 'leave a lock in the repository',
    script: 'echo > "$PERSON/.git/index.lock"; echo > "$PERSON/.git/config.lock"',
    bites: true,
  },
  {
    name: 'point a worktree entry at another repository',
    script: 'mkdir -p "$PERSON/.git/worktrees/mine"; echo /tmp > "$PERSON/.git/worktrees/mine/commondir"',
    bites: true,
  },
];

const SYSTEM: readonly Attack[] = [
  {
    name: 'read passwords and keys of the system',
    script:
      'for f in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_*_key /etc/ssl/private/*; do test -n "$(head -c1 "$f" | tr -d "\\0")" && echo ESCAPED; done',
  },
  {
    name: 'read what not everybody may read in /etc',
    script: 'find /etc -type f ! -perm -004 -size +0 -readable | grep . && echo ESCAPED',
  },
  {
    name: 'write to the system’s folders',
    script:
      'for d in / /etc /usr /usr/bin /usr/local/bin /opt /dev /run /var; do f=$(mktemp "$d/reveille.XXXXXX") && rm -f "$f" && echo "ESCAPED $d"; done',
  },
  {
    name: 'look where data and sockets are',
    script:
      'for d in /var/lib /var/log /var/run/docker.sock /run/docker.sock /run/dbus /run/user /run/systemd/private /srv/. /mnt/. /media/. /boot /sys/kernel /lost+found; do test -e "$d" && echo "ESCAPED $d"; done',
  },
  {
    name: 'open the machine’s memory and disks',
    script:
      'for f in /dev/mem /dev/kmem /dev/port /dev/kmsg /dev/fuse /dev/kvm /dev/sd* /dev/vd* /dev/nvme* /dev/dm-*; do test -e "$f" && echo "ESCAPED $f"; done; mknod disk b 8 0 && rm -f disk && echo ESCAPED',
  },
  {
    name: 'change settings of the kernel',
    script:
      'for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/overcommit_memory /proc/sysrq-trigger /sys/kernel/uevent_helper; do (: >> "$f") && echo "ESCAPED $f"; done; find /proc/sys -type f -writable | grep . && echo ESCAPED',
  },
  {
    name: 'mount something',
    script:
      'mount -t tmpfs none /tmp && umount /tmp && echo ESCAPED; mount --bind /usr /tmp && umount /tmp && echo ESCAPED',
    needs: ['mount'],
  },
  {
    name: 'make a read-only place writable',
    script:
      'mount -o remount,rw / && echo ESCAPED; mount -o remount,bind,rw /usr && echo ESCAPED; mount -o remount,bind,rw "$PERSON/.git/objects" && echo ESCAPED',
    needs: ['mount'],
  },
  {
    name: 'uncover what is hidden',
    script:
      'umount -l "$PERSON" && echo ESCAPED; umount -l "$HOME" && echo ESCAPED; umount -l /etc/shadow && echo ESCAPED',
    needs: ['umount'],
  },
  {
    name: 'make namespaces of its own',
    script:
      'unshare -U true && echo ESCAPED; unshare -m true && echo ESCAPED; unshare -n true && echo ESCAPED',
    needs: ['unshare'],
  },
  {
    name: 'enter other namespaces, change the root',
    script: 'nsenter -t 1 -m true && echo ESCAPED; chroot / true && echo ESCAPED',
    needs: ['nsenter', 'chroot'],
  },
  {
    name: 'have or gain privileges',
    script:
      "grep -qx 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED; grep -E '^Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | grep -qv '0000000000000000' && echo ESCAPED",
  },
  {
    name: 'read the keys that the kernel keeps for the person',
    // KEYCTL_GET_KEYRING_ID of KEY_SPEC_SESSION_KEYRING; KEYCTL_SEARCH in it would be next.
    script: String.raw`perl -e 'syscall(${call('keyctl')}, 0, -3, 1) > 0 and print "ESCAPED
"'`,
    needs: ['perl'],
    bites: true,
    unless: ['no filter'],
  },
  {
    name: 'make system calls that no agent needs',
    script: `${CALLS} ${['io_uring_setup', 'io_uring_register', 'userfaultfd', 'quotactl_fd'].map(call).join(' ')}`,
    needs: ['perl'],
    bites: true,
    unless: ['no filter'],
  },
  {
    name: 'reach the host of a virtual machine',
    script: String.raw`perl -e 'socket(my $s, 40, 1, 0) and print "ESCAPED
"'`,
    needs: ['perl'],
    unless: ['no filter'],
  },
  {
    name: 'push keys into a terminal',
    script: String.raw`perl -e 'open(my $t, "+<", "/dev/tty") and ioctl($t, 0x5412, my $c = "x") and print "ESCAPED\n"'`,
    needs: ['perl'],
  },
];

const PROCESSES: readonly Attack[] = [
  {
    name: 'read other processes',
    script:
      'cat "/proc/$VICTIM/environ" "/proc/$VICTIM/cmdline"; for f in /proc/[0-9]*/environ; do grep -aqs VICTIM_TOKEN "$f" && echo ESCAPED; done',
    bites: true,
  },
  { name: 'kill a process of this machine', script: 'kill -9 "$VICTIM"', bites: true },
  {
    name: 'share namespaces with this machine',
    script:
      'for kind in ipc mnt pid user uts; do case " $NAMESPACES " in *" $(readlink /proc/self/ns/$kind) "*) echo "ESCAPED $kind";; esac; done',
    bites: true,
  },
  { name: 'find secrets in the environment', script: 'env; cat /proc/self/environ' },
  { name: 'be dumped to disk', script: 'test "$(ulimit -c)" = 0 || echo ESCAPED', unless: ['no limits'] },
  {
    name: 'start processes without end',
    script: String.raw`perl -e 'for (1..60) { my $pid = fork; exit unless defined $pid; if (!$pid) { sleep 60; exit } } print "ESCAPED\n"'`,
    changes: { limits: { processes: 24 } },
    needs: ['perl'],
    unless: ['root', 'no limits'],
  },
  {
    name: 'take all memory in one process',
    script: String.raw`perl -e 'my $all = "x" x 300_000_000; print "ESCAPED\n"'`,
    changes: { limits: { memoryBytes: 100 * 1024 ** 2 } },
    needs: ['perl'],
    unless: ['no limits'],
  },
  {
    name: 'take all memory with many processes',
    script: String.raw`perl -e 'for (1..6) { my $pid = fork; if (!$pid) { my $all = "x" x 50_000_000; sleep 60; exit } } sleep 30; print "ESCAPED\n"'`,
    changes: { totals: { memoryBytes: 150 * 1024 ** 2 } },
    needs: ['perl'],
    sums: true,
  },
  {
    name: 'have more processes than a run may, also as root',
    script: String.raw`perl -e 'for (1..60) { my $pid = fork; if (defined $pid && !$pid) { sleep 60; exit } } sleep 30; print "ESCAPED\n"'`,
    changes: { totals: { processes: 24 } },
    needs: ['perl'],
    sums: true,
  },
  {
    name: 'write a file without end',
    script: 'head -c 8000000 /dev/zero > big; test "$(wc -c < big)" -gt 2000000 && echo ESCAPED',
    changes: { limits: { fileBytes: 1_000_000 } },
    unless: ['no limits'],
  },
  {
    name: 'open files without end',
    script: String.raw`perl -e 'my @all; for (1..200) { open(my $f, "<", "/dev/null") or exit; push @all, $f } print "ESCAPED\n"'`,
    changes: { limits: { openFiles: 64 } },
    needs: ['perl'],
    unless: ['no limits'],
  },
];

const NETWORK: readonly Attack[] = [
  {
    name: 'reach this machine’s ports with the network off',
    script: `${CONNECT} "$PRIVATE"`,
    needs: ['perl'],
    bites: true,
  },
  {
    name: 'reach this machine’s ports past a list',
    script: `${CONNECT} "$PRIVATE"`,
    needs: ['perl'],
    changes: { network: { kind: 'list', hosts: ['listed.test'] } },
  },
  {
    name: 'reach a host that is not listed',
    script: 'curl -sS --max-time 20 http://other.test/ http://127.0.0.1:"$PRIVATE"/ --noproxy ""',
    changes: { network: { kind: 'list', hosts: ['listed.test'] } },
    needs: ['curl'],
  },
  {
    name: 'reach a socket in a folder of this machine',
    script: `${CONNECT} "$SOCKET"`,
    needs: ['perl'],
    bites: true,
  },
  {
    name: 'reach an abstract socket with the network off',
    script: `${CONNECT} "@$ABSTRACT"`,
    needs: ['perl'],
    bites: true,
  },
  {
    name: 'reach an abstract socket with the network on',
    script: `${CONNECT} "@$ABSTRACT"`,
    needs: ['perl'],
    changes: { network: { kind: 'on' } },
    unless: ['no scope'],
  },
];

const READ_ONLY: readonly Attack[] = [
  {
    name: 'write to the tree without the right to',
    script:
      'echo x > a.txt; echo x > new; git commit -q --allow-empty -m x && echo ESCAPED; test -e new && echo ESCAPED; grep -qx first a.txt || echo ESCAPED',
    changes: { write: false },
  },
];

export const ATTACKS: Readonly<Record<string, readonly Attack[]>> = {
  files: FILES,
  git: GIT,
  system: SYSTEM,
  processes: PROCESSES,
  network: NETWORK,
  'read-only agents': READ_ONLY,
};
