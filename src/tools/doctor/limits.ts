import { type Check, type Fix, ROLES } from './check.js';
import { type Host, isContainer } from './host.js';
import { checked, grouped, type Question, skipped } from './verdict.js';

const OPEN_FILES = 65_535;
const REALTIME_PRIORITY = 99;
const MAP_COUNT = 10_000_000;
const MAP_COUNT_FILE = '/proc/sys/vm/max_map_count';

/** What the kernel lets one process have. */
export function limitsChecks(host: Host): Check[] {
  return [...LIMITS.map((limit) => limitCheck(host, limit)), mapCount(host)];
}

/** A limit that a process inherits from its parent. */
interface Limit {
  readonly question: Question;
  /** Its row in /proc/self/limits. */
  readonly row: string;
  readonly atLeast: number;
  readonly unit: string;
  /** Its name in limits.conf and for containers, and in units of systemd. */
  readonly item: string;
  readonly directive: string;
  /** The value wanted, as those write it. */
  readonly value: string;
  readonly containerValue: string;
}

const LIMITS: readonly Limit[] = [
  {
    question: {
      id: 'limits.open-files',
      title: 'Open files',
      requiredFor: ROLES,
      wanted: `at least ${grouped(OPEN_FILES)}`,
      why: 'Each connection of a client or worker takes one; at the limit, new connections are refused.',
    },
    row: 'Max open files',
    atLeast: OPEN_FILES,
    unit: '',
    item: 'nofile',
    directive: 'LimitNOFILE',
    value: String(OPEN_FILES),
    containerValue: `${OPEN_FILES}:${OPEN_FILES}`,
  },
  {
    question: {
      id: 'limits.locked-memory',
      title: 'Locked memory',
      requiredFor: [],
      wanted: 'unlimited',
      why: 'Drivers lock the memory that they copy weights from. Memory that cannot be locked is copied twice, or the copy fails.',
    },
    row: 'Max locked memory',
    atLeast: Number.POSITIVE_INFINITY,
    unit: ' bytes',
    item: 'memlock',
    directive: 'LimitMEMLOCK',
    value: 'unlimited',
    containerValue: '-1',
  },
  {
    question: {
      id: 'limits.realtime-priority',
      title: 'Real-time priority',
      requiredFor: [],
      wanted: `${REALTIME_PRIORITY} or unlimited`,
      why: 'Allows running a worker ahead of other processes (chrt). Measure it first: with few cores it makes latencies worse.',
    },
    row: 'Max realtime priority',
    atLeast: REALTIME_PRIORITY,
    unit: '',
    item: 'rtprio',
    directive: 'LimitRTPRIO',
    value: String(REALTIME_PRIORITY),
    containerValue: String(REALTIME_PRIORITY),
  },
];

function limitCheck(host: Host, limit: Limit): Check {
  const { question, row, atLeast, unit } = limit;
  const soft = new RegExp(`^${row} +(\\d+|unlimited)`, 'm').exec(host.read('/proc/self/limits') ?? '')?.[1];
  if (soft === undefined) return skipped(question, `cannot be read on ${host.platform}`);
  const value = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  const found = soft === 'unlimited' ? soft : `${grouped(value)}${unit}`;
  return checked(question, value >= atLeast, found, limitFix(host, limit));
}

/** Logins read limits.conf and units of systemd do not; root is not among its `*`. */
function limitFix(host: Host, { item, directive, value, containerValue }: Limit): Fix {
  const base = { asUser: false, lostAtReboot: false };
  if (isContainer(host)) {
    return { ...base, commands: [], note: `start the container with --ulimit ${item}=${containerValue}` };
  }
  const lines = `'* - ${item} ${value}' 'root - ${item} ${value}'`;
  return {
    ...base,
    commands: [`printf '%s\\n' ${lines} > /etc/security/limits.d/escapement-${item}.conf`],
    note:
      `takes effect at the next login; in this shell at once: sudo prlimit --pid $$ --${item}=${value}:${value}; ` +
      `in a systemd unit: ${directive}=${value === 'unlimited' ? 'infinity' : value}`,
  };
}

function mapCount(host: Host): Check {
  const question: Question = {
    id: 'limits.memory-maps',
    title: 'Memory maps (vm.max_map_count)',
    requiredFor: ['worker'],
    wanted: `at least ${grouped(MAP_COUNT)}`,
    why: 'Each large tensor of a loaded model takes one map; at the limit, allocations fail although memory is free.',
  };
  const text = host.read(MAP_COUNT_FILE)?.trim() ?? '';
  if (text === '') return skipped(question, `${MAP_COUNT_FILE} cannot be read`);
  const setting = `vm.max_map_count=${MAP_COUNT}`;
  return checked(question, Number(text) >= MAP_COUNT, grouped(Number(text)), {
    commands: [`sysctl -w ${setting}`, `echo ${setting} > /etc/sysctl.d/90-escapement.conf`],
    asUser: false,
    lostAtReboot: false,
  });
}
