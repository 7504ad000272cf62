import { MIB } from '../../../base/units.js';
import { formatBytes } from '../../../config/units-text.js';
import { advise, type Check, type Fix, judge, type Row, untilReboot } from '../check.js';
import {
  type Answer,
  type GpuFacts,
  MISSING,
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

/** Checks the NVIDIA driver, and all of its GPUs. */
export async function gpuChecks({
  run,
  cacheBytes,
  cudaWanted,
}: Wishes & { readonly run: Run }): Promise<Check[]> {
  const answer = await queryGpus(run);
  const all = answer.gpus.map((gpu) => ({ ...gpu, cacheBytes }));
  return [
    ...judge([DRIVER], { ...answer, cudaWanted }),
    ...(all.length === 0 ? [] : judge(GPU.map(ofAll), all)),
  ];
}

/** Without a working driver there is nothing else to check. */
const DRIVER: Row<Answer & { readonly cudaWanted: boolean }> = {
  id: 'gpu.driver',
  title: 'NVIDIA driver',
  requiredFor: ['worker'],
  wanted: ({ cudaWanted }) => (cudaWanted ? 'answers, with a GPU' : 'answers, if installed'),
  why: 'If the driver hangs or fails, so does every model on its GPUs.',
  read: ({ gpus, problem, cudaWanted }) => {
    const [first] = gpus;
    if (problem !== null)
      return problem === MISSING && !cudaWanted ? problem.found : { ok: false, ...problem };
    if (first === undefined)
      return cudaWanted ? { ok: false, found: 'a driver, but no GPU' } : 'a driver, but no GPU';
    const names = gpus.map(({ row }) => reported(row, 'name') ?? 'a GPU');
    return { ok: true, found: `driver ${first.row.driver}, ${counted(names)}` };
  },
};

/** Names in order of first occurrence, each with its number if there are several. */
function counted(names: readonly string[]): string {
  const countOf = (name: string) => names.filter((one) => one === name).length;
  return [...new Set(names)]
    .map((name) => (countOf(name) === 1 ? name : `${countOf(name)} × ${name}`))
    .join(', ');
}

interface Gpu extends GpuFacts {
  readonly cacheBytes: number | null;
}

/**
 * Idle GPUs drop to a quarter of their highest clock or less (V100: 135 of 1530 MHz, H200: 345 of 1980 MHz), so the
 * clock of an idle GPU above half of it is locked. The reading may be one step off the locked clock.
 */
const HELD_SHARE = 0.5;
const MOST_LISTED = 4;

const GPU: readonly Row<Gpu>[] = [
  {
    id: 'gpu.persistence',
    title: 'Persistence mode',
    requiredFor: ['worker'],
    wanted: 'Enabled',
    why: 'Otherwise the driver shuts the GPU down when its last process ends, forgets its settings, and needs seconds to start the next process.',
    read: reading('persistence', (found, gpu) => {
      const note = 'lost at the next reboot; to keep it, start nvidia-persistenced at boot';
      return { ok: found === 'Enabled', found, fix: { ...setting(gpu, '-pm 1'), note } };
    }),
  },
  {
    id: 'gpu.compute-mode',
    title: 'Compute mode',
    requiredFor: [],
    wanted: 'Exclusive_Process',
    why: 'A second process on the GPU takes turns with the first, and each INFER takes longer than its profile says.',
    read: reading('computeMode', (found, gpu) => ({
      ok: found === 'Exclusive_Process',
      found,
      fix: setting(gpu, '-c EXCLUSIVE_PROCESS'),
    })),
  },
  {
    id: 'gpu.clocks-locked',
    title: 'Clocks locked',
    // Application clocks at the maximum also fix the clock while a process holds the GPU.
    requiredFor: ({ row }) =>
      (reportedNumber(row, 'applicationsGraphicsMhz') ?? 0) < (reportedNumber(row, 'maxGraphicsMhz') ?? 0)
        ? ['worker']
        : [],
    wanted: 'no drop while idle',
    why: 'If the clock drops between requests, the next ones are late until it rises again. nvidia-smi does not show locks, so this check reads the clock of an idle GPU.',
    read: (gpu) => {
      const { row, processes } = gpu;
      const mostMhz = reportedNumber(row, 'maxGraphicsMhz');
      const nowMhz = reportedNumber(row, 'graphicsMhz');
      if (mostMhz === null || nowMhz === null)
        return notReported(row, nowMhz === null ? 'graphicsMhz' : 'maxGraphicsMhz');
      const found = `${nowMhz} of at most ${mostMhz} MHz`;
      if (processes === null) return `${found}, but it is unknown whether the GPU is idle`;
      if (processes.length > 0 || (reportedNumber(row, 'utilizationPercent') ?? 0) > 0)
        return `${found}, but the GPU is in use: check again when it is idle`;
      return { ok: nowMhz >= HELD_SHARE * mostMhz, found, fix: setting(gpu, `-lgc ${mostMhz},${mostMhz}`) };
    },
  },
  {
    id: 'gpu.throttle',
    title: 'Throttle reasons',
    requiredFor: ['worker'],
    wanted: 'none, or idle, or the applications clocks setting',
    why: 'Throttling makes every INFER longer than its profile says, at unpredictable times.',
    read: reading('throttle', (text) => {
      if (!/^0x[0-9a-fA-F]{1,16}$/.test(text)) return `nvidia-smi says: ${text}`;
      const mask = BigInt(text);
      return {
        ok: (mask & ~HARMLESS) === 0n,
        found: throttleReasons(mask).join(', ') || 'none',
        fix: advise('improve its cooling, raise its power limit (nvidia-smi -pl), or lock its clocks lower'),
      };
    }),
  },
  {
    id: 'gpu.memory',
    title: 'Free memory',
    requiredFor: ['worker'],
    wanted: ({ cacheBytes }) => (cacheBytes === null ? 'any' : `at least ${formatBytes(cacheBytes)}`),
    why: 'LOADs planned into memory that is not free fail, and so do the requests that wait for them.',
    read: ({ row, cacheBytes }) => {
      if (reported(row, 'mig') === 'Enabled') return 'divided into MIG instances';
      const [totalMib, freeMib] = [
        reportedNumber(row, 'memoryTotalMib'),
        reportedNumber(row, 'memoryFreeMib'),
      ];
      if (totalMib === null || freeMib === null) return notReported(row, 'memoryFreeMib');
      const found = `${formatBytes(freeMib * MIB)} free of ${formatBytes(totalMib * MIB)}`;
      return { ok: cacheBytes === null || freeMib * MIB >= cacheBytes, found };
    },
  },
  {
    id: 'gpu.processes',
    title: 'Other processes',
    // Advice only: the process may be the worker itself.
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

/** Judges a field of a GPU; if there is no value, `nvidia-smi` says why. */
function reading(
  field: Parameters<typeof reported>[1],
  judged: (found: string, gpu: Gpu) => ReturnType<Row<Gpu>['read']>,
): Row<Gpu>['read'] {
  return (gpu) => {
    const found = reported(gpu.row, field);
    return found === null ? notReported(gpu.row, field) : judged(found, gpu);
  };
}

/** A check of one GPU turned into a check of all, which fails if any GPU fails. */
function ofAll({ requiredFor, wanted, read, ...row }: Row<Gpu>): Row<readonly Gpu[]> {
  const decisive = (gpus: readonly Gpu[]) => {
    const failed = gpus.filter((gpu) => isFailed(read(gpu)));
    return failed.length > 0 ? failed : gpus;
  };
  return {
    ...row,
    requiredFor: (gpus) => [...new Set(decisive(gpus).flatMap((gpu) => valueFor(requiredFor, gpu)))],
    wanted: (gpus) => valueFor(wanted, decisive(gpus)[0]!),
    read: (gpus) => {
      const byText = new Map<string, (string | undefined)[]>();
      for (const gpu of gpus) {
        const finding = read(gpu);
        const text = typeof finding === 'string' ? finding : finding.found;
        byText.set(text, [...(byText.get(text) ?? []), gpu.row.index]);
      }
      const found =
        byText.size > 1
          ? [...byText].map(([text, indexes]) => `GPU ${indexes.join(', ')}: ${text}`).join('; ')
          : [...byText.keys()].join();
      const known = gpus.map(read).filter((finding) => typeof finding !== 'string');
      if (known.length === 0) return found;
      const failed = known.filter(isFailed);
      const fixes = failed.flatMap(({ fix }) => fix ?? []);
      const [first] = fixes;
      const fix = first && { ...first, commands: fixes.flatMap(({ commands }) => commands) };
      return { ok: failed.length === 0, found, fix: fix ?? null };
    },
  };
}

function isFailed(finding: ReturnType<Row<Gpu>['read']>): boolean {
  return typeof finding !== 'string' && !finding.ok;
}

function valueFor<T>(value: T | ((gpu: Gpu) => T), gpu: Gpu): T {
  return value instanceof Function ? value(gpu) : value;
}

/** `nvidia-smi` with these flags for that GPU. The driver forgets its settings when it is unloaded. */
function setting({ row }: GpuFacts, flags: string): Fix {
  return untilReboot(`nvidia-smi -i ${row.index} ${flags}`);
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

/** Names of the bits in a mask such as `0x0000000000000005`; unnamed bits as a number. */
export function throttleReasons(mask: bigint): string[] {
  const rest = mask & ~((1n << BigInt(REASONS.length)) - 1n);
  const named = REASONS.filter((_, bit) => (mask & (1n << BigInt(bit))) !== 0n);
  return [...named, ...(rest === 0n ? [] : [`unknown (0x${rest.toString(16)})`])];
}
