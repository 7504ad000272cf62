import { posix } from 'node:path';

/** A limit set by a control group, and the file that holds it. */
interface Limit {
  readonly value: number;
  readonly file: string;
}

/** Limits of a Linux container. Null: unlimited. */
interface CgroupLimits {
  /** Processors, possibly fractional. */
  readonly cpus: Limit | null;
  readonly memoryBytes: Limit | null;
}

/** Text of a file; null if it is missing or unreadable. */
export type ReadText = (path: string) => string | null;

/**
 * Limits of the control groups of a process (version 2). Limits of enclosing groups count, too, as far as they are
 * visible, and the lowest applies.
 */
export function readCgroupLimits(read: ReadText): CgroupLimits {
  const dirs = dirsOf(read);
  const lowest = (names: readonly string[], valueIn: (text: string) => number) => {
    const files = names.flatMap((name) => dirs.map((dir) => posix.join(dir, name)));
    const limits = files.map((file) => ({ value: valueIn(read(file)?.trim() ?? ''), file }));
    const set = limits.filter(({ value }) => value > 0 && Number.isFinite(value));
    return set.sort((a, b) => a.value - b.value)[0] ?? null;
  };
  return {
    cpus: lowest(['cpu.max'], (text) => {
      const [quota, period] = text.split(' ').map(Number);
      return quota! / period!;
    }),
    // Above `high` the kernel slows a process down to reclaim memory, so both count.
    memoryBytes: lowest(['memory.max', 'memory.high'], (text) => (text === '' ? Number.NaN : Number(text))),
  };
}

/**
 * Folders of the group of this process and of all mounted ones above it; a group outside the mount appears as its root
 * (https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts).
 */
function dirsOf(read: ReadText): string[] {
  const path = /^0::(.*)$/m.exec(read('/proc/self/cgroup') ?? '')?.[1];
  const mount = (read('/proc/self/mountinfo') ?? '').split('\n').find((line) => line.includes(' - cgroup2 '));
  if (path === undefined || mount === undefined) return [];
  const [root = '', point = ''] = mount.split(' ').slice(3).map(unescaped);
  const below = posix.relative(root, path);
  const parts = below.startsWith('..') ? [] : below.split('/').filter((part) => part !== '');
  return Array.from({ length: parts.length + 1 }, (_, up) =>
    posix.join(point, ...parts.slice(0, parts.length - up)),
  );
}

/** Decodes spaces and the like, written as octal numbers. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
