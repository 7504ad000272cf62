import { formatBytes } from '../../../config/units-text.js';
import { advise, asRoot, type Check, type Fix, judge, type Row, untilReboot } from '../check.js';
import {
  type Answer,
  type GpuFacts,
  memoryOf,
  notReported,
  queryGpus,
  type Run,
  reported,
  reportedNumber,
} from './nvidia-smi.js';

interface Wishes {
  /** Size of the weights cache that each GPU must hold; null: none is configured. */
  readonly cacheBytes: number | null;
  /** True if the GPUs must run the models, so that a missing driver is a failure. */
  readonly cudaWanted: boolean;
}

/** Checks the NVIDIA driver, and each of its GPUs. */
export async function gpuChecks({ run, ...wishes }: Wishes & { readonly run: Run }): Promise<Check[]> {
  const answer = await queryGpus(run);
  const gpus = answer.kind === 'gpus' ? answer.gpus : [];
  const ofGpus = gpus.flatMap((gpu) => {
    const { index } = gpu.row;
    const rows = GPU.map((row) => ({
      ...row,
      id: `gpu.${index}.${row.id}`,
      title: `GPU ${index} ${row.title}`,
    }));
    return judge(rows, { ...gpu, cacheBytes: wishes.cacheBytes });
  });
  return [...judge([DRIVER], { answer, cudaWanted: wishes.cudaWanted }), ...ofGpus];
}

/** Exit status of nvidia-smi if the driver is not loaded (its manual). */
const NOT_LOADED = 9;

/** Without a working driver there is nothing else to check. */
const DRIVER: Row<{ readonly answer: Answer; readonly cudaWanted: boolean }> = {
  id: 'gpu.driver',
  title: 'NVIDIA driver',
  requiredFor: ['worker'],
  wanted: ({ cudaWanted }) => (cudaWanted ? 'answers, with a GPU' : 'answers, if installed'),
  why: 'If the driver hangs or fails, so does every model on its GPUs.',
  read: ({ answer, cudaWanted }) => {
    const hasNone = answer.kind === 'missing' || (answer.kind === 'gpus' && answer.gpus.length === 0);
    if (hasNone && !cudaWanted) return foundIn(answer);
    return {
      ok: !hasNone && answer.kind === 'gpus',
      found: foundIn(answer),
      fix: driverFix(answer),
    };
  },
};

function foundIn(answer: Answer): string {
  switch (answer.kind) {
    case 'missing':
      return 'no nvidia-smi: this machine has no NVIDIA driver';
    case 'timed-out':
      return `nvidia-smi did not answer within ${answer.limitMs / 1000} s`;
    case 'failed': {
      const how = answer.status === null ? '' : ` (exit status ${answer.status})`;
      return `nvidia-smi failed: ${answer.message || 'no message'}${how}`;
    }
    case 'garbage':
      return answer.line === '' ? 'nvidia-smi printed nothing' : `nvidia-smi printed: ${answer.line}`;
    case 'gpus': {
      const [first] = answer.gpus;
      if (first === undefined) return 'a driver, but no GPU';
      const names = answer.gpus.map(({ row }) => row.name ?? 'a GPU');
      const counts = [...new Set(names)].map((name) => {
        const count = names.filter((one) => one === name).length;
        return count === 1 ? name : `${count} × ${name}`;
      });
      return [['driver', first.row.driver].filter(Boolean).join(' '), ...counts].join(', ');
    }
  }
}

function driverFix(answer: Answer): Fix | null {
  if (answer.kind === 'missing') return advise('install the driver: https://www.nvidia.com/drivers');
  if (answer.kind === 'timed-out')
    return advise('reboot; if it hangs again, dmesg | grep -i xid shows which GPU fails');
  if (answer.kind !== 'failed') return null;
  if (/is not a valid field/.test(answer.message)) return advise('update the driver to 535 or newer');
  if (/version mismatch/i.test(answer.message))
    return advise('reboot: the driver was updated while the old one is still loaded');
  return answer.status === NOT_LOADED ? untilReboot('modprobe nvidia') : null;
}

interface Gpu extends GpuFacts {
  readonly cacheBytes: number | null;
}

/** First GPU generation whose clocks can be locked. */
const VOLTA = 7;
/**
 * Idle GPUs drop to a fourth of their highest clock or less (V100: 135 of 1530 MHz, H200: 345 of 1980 MHz); one whose
 * clock stays above half of it with nothing running is locked. The reading may be one step off the locked clock, and
 * being locked matters more than the value.
 */
const HELD_SHARE = 0.5;
const MOST_LISTED = 4;

const GPU: readonly Row<Gpu>[] = [
  {
    id: 'persistence',
    title: 'persistence mode',
    requiredFor: ['worker'],
    wanted: 'Enabled',
    why: 'Otherwise the driver shuts the GPU down when its last process ends, forgets its settings, and needs seconds to start the next process.',
    read: (gpu) => {
      const mode = reported(gpu.row, 'persistence');
      if (mode === null) return notReported(gpu.row, 'persistence');
      const fix = { ...setting(gpu, '-pm 1'), note: 'to keep it, start nvidia-persistenced at boot' };
      return { ok: mode === 'Enabled', found: mode, fix };
    },
  },
  {
    id: 'compute-mode',
    title: 'compute mode',
    // If prohibited, nothing can run on it.
    requiredFor: ({ row }) => (reported(row, 'computeMode') === 'Prohibited' ? ['worker'] : []),
    wanted: 'Exclusive_Process',
    why: 'A second process on the GPU takes turns with the first, and each INFER takes longer than its profile says.',
    read: (gpu) => {
      const mode = reported(gpu.row, 'computeMode');
      if (mode === null) return notReported(gpu.row, 'computeMode');
      return {
        ok: mode === 'Exclusive_Process',
        found: mode,
        fix: setting(gpu, '-c EXCLUSIVE_PROCESS'),
      };
    },
  },
  {
    id: 'mig',
    title: 'MIG mode',
    requiredFor: [],
    wanted: 'Disabled',
    why: 'A process sees one instance of the divided GPU, while a worker plans with the whole GPU.',
    applies: ({ row }) => reported(row, 'mig') === 'Enabled',
    // Some boards remember this mode; disabled is the default of the others.
    read: (gpu) => ({
      ok: false,
      found: 'Enabled',
      fix: asRoot(setting(gpu, '-mig 0').commands, 'when nothing runs on it'),
    }),
  },
  {
    id: 'application-clocks',
    title: 'application clocks',
    requiredFor: ['worker'],
    wanted: ({ highest }) =>
      `${highest === null ? '' : `${clocks(highest.memoryMhz, highest.graphicsMhz)}, `}the highest supported`,
    why: 'The GPU runs models at these clocks: profiles measured at other clocks do not apply.',
    read: (gpu) => {
      const { row, highest } = gpu;
      const memoryMhz = reportedNumber(row, 'applicationsMemoryMhz');
      const graphicsMhz = reportedNumber(row, 'applicationsGraphicsMhz');
      if (memoryMhz === null || graphicsMhz === null) {
        const reason = notReported(row, 'applicationsGraphicsMhz');
        return `cannot be set (${reason}): lock the clocks instead`;
      }
      const found = clocks(memoryMhz, graphicsMhz);
      if (highest === null) return `${found}; this driver does not list the supported clocks`;
      // New GPUs have them at the maximum, and a reboot restores that.
      const isDefault =
        reportedNumber(row, 'defaultApplicationsMemoryMhz') === memoryMhz &&
        reportedNumber(row, 'defaultApplicationsGraphicsMhz') === graphicsMhz;
      const ok = memoryMhz >= highest.memoryMhz && graphicsMhz >= highest.graphicsMhz;
      const fix = ok && isDefault ? null : setting(gpu, `-ac ${highest.memoryMhz},${highest.graphicsMhz}`);
      return { ok, found, fix };
    },
  },
  {
    id: 'clocks-locked',
    title: 'clocks locked',
    // Application clocks also fix the clock while a process holds the GPU.
    requiredFor: ({ row }) => (reportedNumber(row, 'applicationsGraphicsMhz') === null ? ['worker'] : []),
    wanted: (gpu) =>
      `no drop while idle${highestMhz(gpu) === null ? '' : ` (highest: ${highestMhz(gpu)} MHz)`}`,
    why: 'A clock that drops between requests makes the next ones late until it is up again. nvidia-smi does not show locks, so this check reads the clock of an idle GPU.',
    read: (gpu) => {
      const { row, processes } = gpu;
      const mostMhz = highestMhz(gpu);
      const nowMhz = reportedNumber(row, 'graphicsMhz');
      const capability = reported(row, 'computeCapability');
      if (capability !== null && Number.parseFloat(capability) < VOLTA)
        return 'needs a GPU of the Volta generation or newer';
      if (nowMhz === null || mostMhz === null) {
        return notReported(row, nowMhz === null ? 'graphicsMhz' : 'maxGraphicsMhz');
      }
      if (processes === null) return `${nowMhz} MHz, but it is unknown whether the GPU is idle`;
      if (processes.length > 0 || (reportedNumber(row, 'utilizationPercent') ?? 0) > 0)
        return `${nowMhz} MHz, but the GPU is in use: check again when it is idle`;
      const fix = setting(gpu, `-lgc ${mostMhz},${mostMhz}`);
      return { ok: nowMhz >= HELD_SHARE * mostMhz, found: `${nowMhz} MHz while idle`, fix };
    },
  },
  {
    id: 'throttle',
    title: 'throttle reasons',
    requiredFor: ['worker'],
    wanted: 'none, or idle, or the applications clocks setting',
    why: 'Throttling makes every INFER longer than its profile says, at unpredictable times.',
    read: (gpu) => {
      const text = reported(gpu.row, 'throttle');
      if (text === null) return notReported(gpu.row, 'throttle');
      if (!/^0x[0-9a-fA-F]{1,16}$/.test(text)) return `nvidia-smi says: ${text}`;
      const mask = BigInt(text);
      const found = throttleReasons(mask).join(', ') || 'none';
      return { ok: (mask & ~HARMLESS) === 0n, found, fix: relief(gpu, mask) };
    },
  },
  {
    id: 'ecc',
    title: 'ECC',
    requiredFor: [],
    wanted: 'no uncorrected errors',
    why: 'An uncorrected error kills the process that hits it, and a board that had one should be inspected.',
    read: ({ row }) => {
      const mode = reported(row, 'eccMode');
      if (mode === null) return notReported(row, 'eccMode');
      if (mode !== 'Enabled') return { ok: true, found: 'off' };
      const corrected = reportedNumber(row, 'eccCorrected') ?? '?';
      const uncorrected = reportedNumber(row, 'eccUncorrected');
      return {
        ok: (uncorrected ?? 0) === 0,
        found: `on, ${corrected} corrected and ${uncorrected ?? '?'} uncorrected errors since the driver was loaded`,
        fix: advise('reboot, which retires bad memory; if the errors come back, replace the GPU'),
      };
    },
  },
  {
    id: 'memory',
    title: 'free memory',
    requiredFor: ['worker'],
    wanted: ({ cacheBytes }) =>
      `at least ${cacheBytes === null ? '' : `${formatBytes(cacheBytes)}, `}the weights cache`,
    why: 'LOADs planned into memory that is not free fail, and so do the requests that wait for them.',
    read: ({ row, cacheBytes }) => {
      if (reported(row, 'mig') === 'Enabled') return 'divided into MIG instances';
      const size = memoryOf(row);
      if (size === null) return notReported(row, 'memoryFreeMib');
      const found = `${formatBytes(size.freeBytes)} free of ${formatBytes(size.totalBytes)}`;
      if (cacheBytes === null) return `${found}; no weights cache is configured`;
      return { ok: size.freeBytes >= cacheBytes, found };
    },
  },
  {
    id: 'processes',
    title: 'other processes',
    // The process may be the worker for which the machine is examined.
    requiredFor: [],
    wanted: 'only the worker',
    why: 'Another process takes memory from the weights cache and time from every INFER.',
    read: ({ processes }) => {
      if (processes === null) return 'nvidia-smi did not list them';
      const more = processes.length - MOST_LISTED;
      const listed = [...processes.slice(0, MOST_LISTED), ...(more > 0 ? [`${more} more`] : [])];
      return { ok: processes.length === 0, found: listed.join('; ') || 'none' };
    },
  },
];

/** `nvidia-smi` with these flags for that GPU. The driver forgets its settings when it is unloaded. */
function setting({ row }: GpuFacts, flags: string): Fix {
  return untilReboot(`nvidia-smi -i ${row.index} ${flags}`);
}

function highestMhz({ row, highest }: GpuFacts): number | null {
  return highest?.graphicsMhz ?? reportedNumber(row, 'maxGraphicsMhz');
}

function clocks(memoryMhz: number, graphicsMhz: number): string {
  return `memory ${memoryMhz} MHz, graphics ${graphicsMhz} MHz`;
}

/** Bits of the mask, from the lowest (NVML, nvmlClocksEventReasons). */
const REASONS = [
  'idle',
  'applications clocks setting',
  'software power cap',
  'hardware slowdown',
  'sync boost',
  'software thermal slowdown',
  'hardware thermal slowdown',
  'hardware power brake',
  'display clock setting',
];
/** Idle, and deliberate settings. */
const HARMLESS = 0x3n;
const POWER_CAP = 0x4n;
const HEAT = 0x60n;

/** Names of the bits in a mask such as `0x0000000000000005`; unnamed bits as a number. */
export function throttleReasons(mask: bigint): string[] {
  const rest = mask & ~((1n << BigInt(REASONS.length)) - 1n);
  const named = REASONS.filter((_, bit) => (mask & (1n << BigInt(bit))) !== 0n);
  return [...named, ...(rest === 0n ? [] : [`unknown (0x${rest.toString(16)})`])];
}

function relief(gpu: GpuFacts, mask: bigint): Fix | null {
  if ((mask & HEAT) !== 0n) return advise('improve its cooling, or lock its clocks lower');
  if ((mask & POWER_CAP) === 0n) return null;
  const limitW = reportedNumber(gpu.row, 'powerLimitW');
  const mostW = reportedNumber(gpu.row, 'powerMaxLimitW');
  return limitW !== null && mostW !== null && limitW < mostW
    ? setting(gpu, `-pl ${mostW}`)
    : advise('its power limit is at the maximum: lock its clocks lower');
}
