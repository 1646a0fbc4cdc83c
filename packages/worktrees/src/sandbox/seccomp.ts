/**
 * The system calls that are refused inside, as a program for the kernel (classic BPF). Nobody who writes, builds or tests
 * software needs them, and each is either a way to what namespaces do not divide (the kernel's keys, its clock, the host's
 * side of a virtual machine) or a part of the kernel in which ways out have been found again and again.
 *
 * The numbers stand in columns: x86-64, the 32-bit calls that an x86-64 kernel serves as well, and the one list that
 * arm64 and riscv64 share. Null: there is no such call.
 */
type Numbers = readonly [x64: number | null, ia32: number | null, generic: number | null];

/** Refused always. */
const CLOSED: Readonly<Record<string, Numbers>> = {
  keyctl: [250, 288, 219],
  add_key: [248, 286, 217],
  request_key: [249, 287, 218],
  bpf: [321, 357, 280],
  userfaultfd: [323, 374, 282],
  io_uring_setup: [425, 425, 425],
  io_uring_enter: [426, 426, 426],
  io_uring_register: [427, 427, 427],
  perf_event_open: [298, 336, 241],
  fanotify_init: [300, 338, 262],
  open_by_handle_at: [304, 342, 265],
  kexec_load: [246, 283, 104],
  kexec_file_load: [320, null, 294],
  create_module: [174, 127, null],
  init_module: [175, 128, 105],
  finit_module: [313, 350, 273],
  delete_module: [176, 129, 106],
  acct: [163, 51, 89],
  swapon: [167, 87, 224],
  swapoff: [168, 115, 225],
  reboot: [169, 88, 142],
  settimeofday: [164, 79, 170],
  clock_settime: [227, 264, 112],
  clock_settime64: [null, 404, null],
  stime: [null, 25, null],
  iopl: [172, 110, null],
  ioperm: [173, 101, null],
  quotactl: [179, 131, 60],
  quotactl_fd: [443, 443, 443],
  syslog: [103, 103, 116],
  lookup_dcookie: [212, 253, 18],
  nfsservctl: [180, 169, 42],
  uselib: [134, 86, null],
  vhangup: [153, 111, 58],
  vm86: [null, 166, null],
  vm86old: [null, 113, null],
  // It carries its arguments in memory, where no filter sees them. C libraries call `socket` itself.
  socketcall: [null, 102, null],
};

/** Refused unless the program brings a sandbox of its own. */
const MOUNTING: Readonly<Record<string, Numbers>> = {
  mount: [165, 21, 40],
  umount: [null, 22, null],
  umount2: [166, 52, 39],
  pivot_root: [155, 217, 41],
  chroot: [161, 61, 51],
  open_tree: [428, 428, 428],
  move_mount: [429, 429, 429],
  fsopen: [430, 430, 430],
  fsconfig: [431, 431, 431],
  fsmount: [432, 432, 432],
  fspick: [433, 433, 433],
  mount_setattr: [442, 442, 442],
  setns: [308, 346, 268],
};

const CLONE3: Numbers = [435, 435, 435];
const CLONE: Numbers = [56, 120, 220];
const UNSHARE: Numbers = [272, 310, 97];
const IOCTL: Numbers = [16, 54, 29];
const SOCKET: Numbers = [41, 359, 198];

const CLONE_NEWUSER = 0x1000_0000;
/** TIOCSTI and TIOCLINUX: they put keys into a terminal. */
const TERMINAL_PUSHES = [0x5412, 0x541c];
/** AF_VSOCK leads to the machine that a virtual one runs on, in every network; AF_ALG, AF_RDS and AF_TIPC nobody needs. */
const FAMILIES = [40, 38, 21, 30];

interface Architecture {
  /** What the kernel calls the kinds of calls that a process may make, and the column of each. */
  readonly kinds: readonly (readonly [audit: number, column: 0 | 1 | 2])[];
  readonly prctl: number;
}

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, Architecture>> = {
  x64: {
    kinds: [
      [0xc000_003e, 0],
      [0x4000_0003, 1],
    ],
    prctl: 157,
  },
  arm64: { kinds: [[0xc000_00b7, 2]], prctl: 167 },
  riscv64: { kinds: [[0xc000_00f3, 2]], prctl: 167 },
};

/** The system call `prctl`, by which the filter is set; null: the calls of this architecture are not known here. */
export const prctlNumber = (arch = process.arch): number | null => ARCHITECTURES[arch]?.prctl ?? null;

/** The number of a refused call on this machine; null: it has no such call. */
export function callNumber(name: string, arch = process.arch): number | null {
  const column = ARCHITECTURES[arch]?.kinds[0]?.[1];
  const numbers = CLOSED[name] ?? MOUNTING[name];
  return column === undefined ? null : (numbers?.[column] ?? null);
}

const [LOAD, IF_EQUAL, IF_AT_LEAST, IF_SET, JUMP, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x05, 0x06];
const ALLOW = 0x7fff_0000;
const refuse = (errno: number): number => 0x0005_0000 | errno;
const [EPERM, ENOSYS] = [1, 38];
/** Offsets in what the kernel shows a filter. Of an argument the lower half: that is all the calls below look at. */
const [NUMBER, KIND] = [0, 4];
const argument = (i: number): number => 16 + 8 * i;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The filter as the kernel reads it; null: the calls of this architecture are not known here. */
export function filterProgram(nested: boolean, arch = process.arch): Buffer | null {
  const known = ARCHITECTURES[arch];
  if (!known) return null;
  const instructions: Instruction[] = [[LOAD, 0, 0, KIND]];
  for (const [audit, column] of known.kinds) {
    const rules = rulesFor(column, nested);
    instructions.push([IF_EQUAL, 1, 0, audit], [JUMP, 0, 0, rules.length], ...rules);
  }
  // Calls of a kind that is not listed.
  instructions.push([RETURN, 0, 0, refuse(ENOSYS)]);
  const bytes = Buffer.alloc(8 * instructions.length);
  for (const [i, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, 8 * i);
    bytes.writeUInt8(ifTrue, 8 * i + 2);
    bytes.writeUInt8(ifFalse, 8 * i + 3);
    bytes.writeUInt32LE(value, 8 * i + 4);
  }
  return bytes;
}

/** All that is decided about the calls of one kind. Each rule is whole by itself, so no jump is long. */
function rulesFor(column: 0 | 1 | 2, nested: boolean): Instruction[] {
  const of = (numbers: Numbers): number | null => numbers[column];
  const closed = Object.values({ ...CLOSED, ...(nested ? {} : MOUNTING) }).map(of);
  return [
    [LOAD, 0, 0, NUMBER],
    // The x32 calls of an x86-64 kernel are the same ones under other numbers.
    ...(column === 0
      ? [[IF_AT_LEAST, 0, 1, 0x4000_0000] as const, [RETURN, 0, 0, refuse(ENOSYS)] as const]
      : []),
    ...closed.flatMap((number) => (number === null ? [] : [...refused(number, EPERM)])),
    ...TERMINAL_PUSHES.flatMap((value) => refusedIf(of(IOCTL), { at: 1, test: IF_EQUAL, value })),
    ...FAMILIES.flatMap((value) => refusedIf(of(SOCKET), { at: 0, test: IF_EQUAL, value })),
    ...(nested ? [] : userNamespaces(of)),
    [RETURN, 0, 0, ALLOW],
  ];
}

/** The flags of `clone3` are in memory, where no filter sees them; without it C libraries call `clone`. */
const userNamespaces = (of: (numbers: Numbers) => number | null): Instruction[] => [
  ...refused(of(CLONE3) ?? -1, ENOSYS),
  ...[CLONE, UNSHARE].flatMap((call) => refusedIf(of(call), { at: 0, test: IF_SET, value: CLONE_NEWUSER })),
];

const refused = (number: number, errno: number): Instruction[] => [
  [IF_EQUAL, 0, 1, number >>> 0],
  [RETURN, 0, 0, refuse(errno)],
];

interface Condition {
  readonly at: number;
  readonly test: number;
  readonly value: number;
}

const refusedIf = (number: number | null, { at, test, value }: Condition): Instruction[] =>
  number === null
    ? []
    : [
        [IF_EQUAL, 0, 4, number],
        [LOAD, 0, 0, argument(at)],
        [test, 0, 1, value],
        [RETURN, 0, 0, refuse(EPERM)],
        [LOAD, 0, 0, NUMBER],
      ];
