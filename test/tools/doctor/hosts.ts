import { GIB } from '../../../src/base/units.js';
import { type Check, judge } from '../../../src/tools/doctor/check.js';
import type { Host, Machine } from '../../../src/tools/doctor/host.js';
import { MACHINE, WORKER } from '../../../src/tools/doctor/rows.js';

export interface Recorded {
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly platform?: string;
  readonly nodeVersion?: string;
  readonly isGlibc?: boolean;
}

/** A machine that has these files and no others. */
export function recordedHost({
  files = {},
  env = {},
  platform = 'linux',
  nodeVersion = '20.19.0',
  isGlibc = platform === 'linux',
}: Recorded = {}): Host {
  const paths = Object.keys(files);
  return {
    platform,
    nodeVersion,
    env,
    isGlibc,
    availableBytes: availableBytes(files['/proc/meminfo'] ?? ''),
    read: (path) => files[path] ?? null,
    list: (path) => [
      ...new Set(
        paths
          .filter((file) => file.startsWith(`${path}/`))
          .map((file) => file.slice(path.length + 1).split('/')[0] as string),
      ),
    ],
  };
}

function availableBytes(meminfo: string): number | null {
  const kib = /^MemAvailable: +(\d+) kB$/m.exec(meminfo)?.[1];
  return kib === undefined ? null : Number(kib) * 1024;
}

/** /proc/self/limits as Linux writes it. */
export function limitsText(openFiles: string): string {
  const row = (name: string, value: string, unit: string) =>
    `${name.padEnd(26)}${value.padEnd(21)}${value.padEnd(21)}${unit.padEnd(10)}\n`;
  return [
    'Limit                     Soft Limit           Hard Limit           Units     \n',
    row('Max cpu time', 'unlimited', 'seconds'),
    row('Max open files', openFiles, 'files'),
    row('Max realtime timeout', 'unlimited', 'us'),
  ].join('');
}

function cpus(count: number, governor: string): Record<string, string> {
  const path = (cpu: number) => `/sys/devices/system/cpu/cpu${cpu}/cpufreq/scaling_governor`;
  return Object.fromEntries(Array.from({ length: count }, (_, cpu) => [path(cpu), `${governor}\n`]));
}

/** A server in a rack, set up as it should be. */
export const SERVER = {
  env: { LD_PRELOAD: 'libjemalloc.so.2' },
  files: {
    '/proc/self/limits': limitsText('1048576'),
    '/proc/sys/vm/max_map_count': '10000000\n',
    '/proc/meminfo': 'MemTotal:       263856708 kB\nMemFree:        1000 kB\nMemAvailable:   201326592 kB\n',
    '/run/systemd/system/x': '',
    ...cpus(16, 'performance'),
    '/sys/devices/system/cpu/smt/control': 'off\n',
    '/sys/kernel/mm/transparent_hugepage/enabled': 'always [madvise] never\n',
  },
} satisfies Recorded;

/** A laptop as it comes. */
export const LAPTOP = {
  files: {
    '/proc/self/limits': limitsText('1024'),
    '/proc/sys/vm/max_map_count': '65530\n',
    '/proc/meminfo': 'MemTotal:       16000000 kB\nMemAvailable:   4194304 kB\n',
    '/run/systemd/system/x': '',
    ...cpus(8, 'powersave'),
    '/sys/devices/system/cpu/smt/control': 'on\n',
    '/sys/kernel/mm/transparent_hugepage/enabled': '[always] madvise never\n',
  },
} satisfies Recorded;

/** A container that is shown nothing of /sys, with musl. */
export const CONTAINER = {
  isGlibc: false,
  files: {
    '/.dockerenv': '',
    '/proc/self/limits': limitsText('1024'),
    '/proc/sys/vm/max_map_count': '65530\n',
  },
} satisfies Recorded;

export const MAC = { platform: 'darwin' } satisfies Recorded;

/** What is read of a machine, as a worker on the CPU unless `more` says otherwise. */
export function read(recorded: Recorded, more: Partial<Machine> = {}): Check[] {
  return judge([...MACHINE, ...WORKER], {
    host: recordedHost(recorded),
    role: 'worker',
    device: 'cpu',
    cacheBytes: GIB,
    ...more,
  });
}

/** The status of each check by its id, of those whose ids begin so. */
export function statuses(checks: readonly Check[], prefix = ''): Record<string, string> {
  const chosen = checks.filter(({ id }) => id.startsWith(prefix));
  return Object.fromEntries(chosen.map(({ id, status }) => [id, status]));
}

export function find(checks: readonly Check[], id: string): Check {
  const check = checks.find((one) => one.id === id);
  if (check === undefined) throw new Error(`no check ${id} among ${checks.map((one) => one.id).join(', ')}`);
  return check;
}
