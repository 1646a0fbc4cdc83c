import { describe, expect, test } from 'vitest';
import { callNumber, filterProgram } from '../../src/sandbox/seccomp.ts';

interface Call {
  readonly number: number;
  readonly kind: number;
  readonly args?: readonly number[];
}

/** What the kernel does with a filter: 0 is allowed, else the error number. */
function decide(program: Buffer, { number, kind, args = [] }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(kind >>> 0, 4);
  args.forEach((value, i) => data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * i));
  let loaded = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(8 * at);
    const [ifTrue, ifFalse] = [program.readUInt8(8 * at + 2), program.readUInt8(8 * at + 3)];
    const value = program.readUInt32LE(8 * at + 4);
    if (code === 0x06) return value === 0x7fff_0000 ? 0 : value & 0xffff;
    else if (code === 0x20) loaded = data.readUInt32LE(value);
    else if (code === 0x05) at += value;
    else if (code === 0x15) at += loaded === value ? ifTrue : ifFalse;
    else if (code === 0x35) at += loaded >= value ? ifTrue : ifFalse;
    else if (code === 0x45) at += (loaded & value) !== 0 ? ifTrue : ifFalse;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('it ends without a decision');
}

const [X64, IA32, ARM64, ARM, RISCV] = [0xc000_003e, 0x4000_0003, 0xc000_00b7, 0x4000_0028, 0xc000_00f3];
const NEWUSER = 0x1000_0000;
const [EPERM, ENOSYS] = [1, 38];

/** Numbers of each kind: what is refused always, what only without a sandbox within, and what is never. */
const KINDS = [
  {
    arch: 'x64',
    kind: X64,
    always: [250, 248, 321, 425, 304],
    mounts: [165, 308],
    never: [0, 1, 59, 157, 202],
  },
  { arch: 'x64', kind: IA32, always: [288, 286, 357, 425, 102], mounts: [21, 346], never: [3, 4, 11, 172] },
  {
    arch: 'arm64',
    kind: ARM64,
    always: [219, 217, 280, 425, 265],
    mounts: [40, 268],
    never: [63, 64, 221, 167],
  },
  { arch: 'riscv64', kind: RISCV, always: [219, 280], mounts: [40], never: [63, 64] },
] as const;

const program = (nested: boolean, arch: NodeJS.Architecture): Buffer =>
  filterProgram(nested, arch) ?? Buffer.alloc(0);

describe.each(KINDS)('the calls of $arch as kind $kind', ({ arch, kind, always, mounts, never }) => {
  test('[BND2.20] are refused if nobody needs them, those of a sandbox within if there is none', () => {
    for (const nested of [false, true]) {
      const filter = program(nested, arch);
      for (const number of always)
        expect([number, decide(filter, { number, kind })]).toEqual([number, EPERM]);
      for (const number of never) expect([number, decide(filter, { number, kind })]).toEqual([number, 0]);
      for (const number of mounts)
        expect([number, decide(filter, { number, kind })]).toEqual([number, nested ? 0 : EPERM]);
      expect(decide(filter, { number: 435, kind })).toBe(nested ? 0 : ENOSYS);
    }
  });
});

test('[BND2.20] arguments decide where a call has good uses too, whatever is in their upper half', () => {
  const filter = program(false, 'x64');
  const by = (number: number, ...args: number[]): number => decide(filter, { number, kind: X64, args });
  const [clone, unshare, ioctl, socket] = [56, 272, 16, 41];
  expect([by(clone, NEWUSER | 17), by(clone, 17), by(unshare, NEWUSER), by(unshare, 0x400)]).toEqual([
    1, 0, 1, 0,
  ]);
  expect([by(ioctl, 0, 0x5412), by(ioctl, 0, 0x541c), by(ioctl, 0, 0x5401)]).toEqual([1, 1, 0]);
  // The kernel looks at the lower half only, so a filter must too.
  expect(by(ioctl, 0, 2 ** 32 + 0x5412)).toBe(EPERM);
  expect([
    by(socket, 40),
    by(socket, 38),
    by(socket, 1),
    by(socket, 2),
    by(socket, 10),
    by(socket, 16),
  ]).toEqual([1, 1, 0, 0, 0, 0]);
});

test('[BND2.20] calls under other numbers or of another kind are no way round it', () => {
  const filter = program(false, 'x64');
  for (const number of [250, 512, 0]) {
    expect(decide(filter, { number: 0x4000_0000 + number, kind: X64 })).toBe(ENOSYS);
    expect(decide(filter, { number, kind: ARM64 })).toBe(ENOSYS);
  }
  expect(decide(program(false, 'arm64'), { number: 3, kind: ARM })).toBe(ENOSYS);
  expect(filterProgram(false, 's390x')).toBeNull();
  expect(callNumber('keyctl', 's390x')).toBeNull();
});
