import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { usableCores, usableMemoryBytes } from '../../../src/base/limits/usable.js';
import { ROOT } from '../../cli/run-cli.js';

const limited = (quota: string, memory: string) => (path: string) =>
  ({
    '/proc/self/cgroup': '0::/\n',
    '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n',
    '/sys/fs/cgroup/cpu.max': quota,
    '/sys/fs/cgroup/memory.max': memory,
  })[path] ?? null;

describe('what a process may use', () => {
  it.each([
    ['50000 100000', 1],
    ['199999 100000', 1],
    ['99900000 100000', availableParallelism()],
    ['max 100000', availableParallelism()],
  ])('is, at a quota of %j, %d cores', (quota, cores) => {
    expect(usableCores(limited(quota, 'max'))).toBe(cores);
  });

  it.each([
    ['4096', 4096],
    ['1152921504606846976', totalmem()],
    ['max', totalmem()],
  ])('is, at a limit of %s, %d bytes', (limit, bytes) => {
    expect(usableMemoryBytes(limited('max 100000', limit))).toBe(bytes);
  });

  it('is what the kernel says of a group that the process is really in', ({ skip }) => {
    const groups = ownGroups();
    skip(groups === null, 'no control groups of version 1 or 2 that this user may make');
    const { cpu, memory } = groups as NonNullable<typeof groups>;
    for (const { dir } of [cpu, memory]) if (!existsSync(dir)) mkdirSync(dir);
    onTestFinished(() => {
      for (const dir of new Set([cpu.dir, memory.dir])) rmdirSync(dir);
    });
    for (const { dir, name, text } of [cpu, memory]) writeFileSync(join(dir, name), text);
    const usable = join(ROOT, 'dist/base/limits/usable.js');
    const program = `import { usableCores, usableMemoryBytes } from '${usable}';
      console.log(usableCores(), usableMemoryBytes(), process.constrainedMemory());`;
    const enter = [cpu, memory].map(({ dir }) => `echo $$ > ${dir}/cgroup.procs`).join('; ');
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', `${enter}; exec "$0" --input-type=module --eval "$1"`, process.execPath, program],
      { encoding: 'utf8' },
    );
    // Node's own figure comes from the same files, read by other code.
    expect(stdout, stderr).toBe('1 536870912 536870912\n');
  });
});

interface Group {
  readonly dir: string;
  readonly name: string;
  readonly text: string;
}

/** A group for one and a half processors, and one for half a GiB. */
function ownGroups(): { readonly cpu: Group; readonly memory: Group } | null {
  const root = '/sys/fs/cgroup';
  const name = `escapement-test-${process.pid}`;
  const bytes = String(2 ** 29);
  if (mayMake(join(root, 'cpu')) && mayMake(join(root, 'memory'))) {
    return {
      cpu: { dir: join(root, 'cpu', name), name: 'cpu.cfs_quota_us', text: '150000' },
      memory: { dir: join(root, 'memory', name), name: 'memory.limit_in_bytes', text: bytes },
    };
  }
  const dir = join(root, name);
  const control = join(root, 'cgroup.subtree_control');
  if (!existsSync(control) || !/cpu .*memory/.test(readFileSync(control, 'utf8')) || !mayMake(root))
    return null;
  return {
    cpu: { dir, name: 'cpu.max', text: '150000 100000' },
    memory: { dir, name: 'memory.max', text: bytes },
  };
}

function mayMake(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
