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
 * Limits of the control groups of a process, version 1 and 2. Limits of enclosing groups count, too, as far as they are
 * visible, and the lowest applies.
 */
export function readCgroupLimits(read: ReadText): CgroupLimits {
  return {
    cpus: lowest(groupsOf('cpu', read), read, { 1: quotaV1, 2: quotaV2 }),
    memoryBytes: lowest(groupsOf('memory', read), read, { 1: memoryV1, 2: memoryV2 }),
  };
}

type Controller = 'cpu' | 'memory';

/** Folders of a group and of the enclosing ones. */
interface Groups {
  readonly version: 1 | 2;
  readonly dirs: readonly string[];
}

/** Limits of one group. */
type ReadLimits = (dir: string, read: ReadText) => (Limit | null)[];

function lowest(
  groups: Groups | null,
  read: ReadText,
  byVersion: Readonly<Record<1 | 2, ReadLimits>>,
): Limit | null {
  if (groups === null) return null;
  const limits = groups.dirs.flatMap((dir) => byVersion[groups.version](dir, read));
  return limits.reduce((low, limit) => {
    if (limit === null || (low !== null && low.value <= limit.value)) return low;
    return limit;
  }, null);
}

const quotaV2: ReadLimits = (dir, read) => {
  const file = posix.join(dir, 'cpu.max');
  const [quota = 'max', period = ''] = (read(file) ?? '').trim().split(' ');
  return [share(quota === 'max' ? 0 : Number(quota), Number(period), file)];
};

const quotaV1: ReadLimits = (dir, read) => {
  const file = posix.join(dir, 'cpu.cfs_quota_us');
  // −1: no limit.
  return [share(Number(read(file) ?? -1), Number(read(posix.join(dir, 'cpu.cfs_period_us'))), file)];
};

/** Above `high` the kernel slows a process down to reclaim memory, so both count. */
const memoryV2: ReadLimits = (dir, read) =>
  ['memory.max', 'memory.high'].map((name) => bytes(dir, name, read));

const memoryV1: ReadLimits = (dir, read) => [bytes(dir, 'memory.limit_in_bytes', read)];

function share(quotaUs: number, periodUs: number, file: string): Limit | null {
  return quotaUs > 0 && periodUs > 0 ? { value: quotaUs / periodUs, file } : null;
}

/** Version 2 writes "max" for no limit, version 1 the largest possible number. */
function bytes(dir: string, name: string, read: ReadText): Limit | null {
  const file = posix.join(dir, name);
  const value = Number.parseInt(read(file) ?? '', 10);
  return Number.isSafeInteger(value) ? { value, file } : null;
}

function groupsOf(controller: Controller, read: ReadText): Groups | null {
  const lines = (read('/proc/self/cgroup') ?? '')
    .split('\n')
    .map((line) => /^(\d+):([^:]*):(.*)$/.exec(line));
  const pathOf = (wanted: (id: string, controllers: string[]) => boolean) =>
    lines.find((line) => line !== null && wanted(line[1] as string, (line[2] as string).split(',')))?.[3];
  const mounts = mountsIn(read('/proc/self/mountinfo') ?? '');
  // A machine may have both versions; each controller belongs to one of them.
  const pathV1 = pathOf((_, controllers) => controllers.includes(controller));
  const version = pathV1 === undefined ? 2 : 1;
  const path = pathV1 ?? pathOf((id) => id === '0');
  const mount = mounts.find(({ type, options }) =>
    version === 2 ? type === 'cgroup2' : type === 'cgroup' && options.includes(controller),
  );
  return path === undefined || mount === undefined ? null : { version, dirs: dirsOf(path, mount) };
}

interface Mount {
  /** Folder of the file system mounted at `point`. */
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts */
function mountsIn(mountinfo: string): Mount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before, after = ''] = line.split(' - ', 2) as [string, string?];
    const [, , , root = '', point = ''] = before.split(' ');
    const [type = '', , options = ''] = after.split(' ');
    return type.startsWith('cgroup')
      ? [{ root: unescaped(root), point: unescaped(point), type, options: options.split(',') }]
      : [];
  });
}

/** The group's own folder and all mounted ones above it. A group outside the mount appears as its root. */
function dirsOf(path: string, { root, point }: Mount): string[] {
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
