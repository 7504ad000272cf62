import * as z from 'zod';
import { bytes, duration, INSTEAD_OF, price, section } from './fields.js';
import { LIVE_DEVICES, type LiveDevice } from './schema-live.js';
import { parseBytes } from './units-text.js';

/**
 * What 32 GB of a V100 leave for weights in Clockwork's configuration: 1,376 pages of 16 MiB.
 */
export const DEFAULT_MEMORY = '21.5GiB';

const MOST_GPUS = 10_000;

const gpuKind = section({
  kind: z
    .string()
    .regex(/^[A-Za-z0-9][\w-]*$/)
    .describe('Name of the kind, e.g. v100; `profiles` of models say what was measured on it.'),
  count: z
    .int()
    .min(0)
    .max(MOST_GPUS)
    .default(1)
    .describe('GPUs of the kind, with a scaler at the start; 0: it is left out.'),
  min: z
    .int()
    .min(0)
    .max(MOST_GPUS)
    .exactOptional()
    .describe('Fewest GPUs of the kind that a scaler keeps; default: 0, or 1 of an only kind.'),
  max: z
    .int()
    .min(1)
    .max(MOST_GPUS)
    .exactOptional()
    .describe('Most GPUs of the kind that a scaler orders; default: count.'),
  start: duration(
    'Time from the order of a GPU until it takes actions, e.g. 60s; its price counts from the order.',
  ).prefault('0s'),
  minLifetime: duration(
    'Shortest time from the order of a GPU until a scaler stops it, e.g. 10m; clouds bill a least time.',
  ).prefault('0s'),
  pages: z.int().min(1).exactOptional().describe("Pages of each one's weights cache; instead of memory."),
  memory: bytes("Size of each one's weights cache; default: cluster.pages or cluster.memory.")
    .exactOptional()
    .meta({ [INSTEAD_OF]: 'pages' }),
  price: price('What one costs, in any currency, e.g. 2.48/h.').exactOptional(),
  speed: z
    .number()
    .positive()
    .exactOptional()
    .describe(
      'How many times as fast as the first kind INFERs run on it, for models that were not measured on it; LOADs take as long as there.',
    ),
  device: z
    .enum(LIVE_DEVICES)
    .exactOptional()
    .describe('What executes models on it in live mode; default: live.device.'),
});

const gpuKinds = z.array(gpuKind.meta({ id: 'gpuKind' }), {
  error: ({ code }) => (code === 'invalid_type' ? 'must be a list of kinds' : undefined),
});

/** `cluster.gpus`: a number, or a list of kinds. */
export const gpusSchema = z
  .union([z.int().min(1).max(MOST_GPUS), gpuKinds.min(1)])
  .prefault(1)
  .describe('GPUs over all workers: how many, or a list of kinds, each with its number.');

/** One kind of GPUs of a cluster that has some. */
export interface GpuKindConfig {
  /** Null: the cluster has one kind, which has no name. */
  readonly name: string | null;
  readonly gpus: number;
  /** Of these, how many are there at the start. All, unless a scaler decides; then `gpus` is the most that there may be. */
  readonly on: number;
  /** What a scaler may do: how many there are at least and at most, how long one takes to start, and how long it stays. */
  readonly scaled: {
    readonly min: number;
    readonly max: number;
    readonly startNs: number;
    /** For how long a GPU is kept at least, from its order on. */
    readonly minLifetimeNs: number;
  };
  /** Pages of each one's weights cache. */
  readonly pages: number;
  readonly pricePerHour: number | null;
  /** Relative to the models' own profiles, for models without one for this kind; null: they need one. */
  readonly speed: number | null;
  /** In live mode; null: what `live.device` says. */
  readonly device: LiveDevice | null;
}

/** The size of a weights cache, in one way or the other. */
interface CacheSize {
  readonly pages?: number;
  readonly memory?: number;
}

interface Gpus extends CacheSize {
  readonly gpus: z.output<typeof gpusSchema>;
  readonly pageSize: number;
}

interface ReadKinds {
  readonly kinds: readonly GpuKindConfig[];
  /** All that are listed, also those that have no GPU at the start. */
  readonly listed: readonly GpuKindConfig[];
  readonly kindNames: readonly string[];
}

type Refuse = (path: readonly (string | number)[], message: string) => void;

/** The kinds of GPUs that the section of a cluster describes; `refuse` notes a mistake at a path within it. */
export function readKinds({ gpus, pageSize, ...shared }: Gpus, refuse: Refuse): ReadKinds {
  const sharedPages = pagesOf(shared, pageSize) ?? pagesIn(parseBytes(DEFAULT_MEMORY), pageSize);
  if (typeof gpus === 'number') {
    if (sharedPages < 1) refuse(['memory'], TOO_LITTLE);
    const scaled = { min: gpus, max: gpus, startNs: 0, minLifetimeNs: 0 };
    const counted = { name: null, gpus, on: gpus, scaled, pages: sharedPages };
    const only = { ...counted, pricePerHour: null, speed: 1, device: null };
    return { kinds: [only], listed: [only], kindNames: [] };
  }
  checkList(gpus, refuse);
  const kinds = gpus.map((entry, i) => {
    const { kind, count, price: pricePerHour = null, speed = null, device = null, ...own } = entry;
    const { start: startNs, minLifetime: minLifetimeNs } = own;
    const { min = gpus.length === 1 ? Math.min(1, count) : 0, max = count } = own;
    const pages = pagesOf(own, pageSize) ?? sharedPages;
    if (pages < 1) refuse(own.memory === undefined ? ['memory'] : ['gpus', i, 'memory'], TOO_LITTLE);
    const counted = { gpus: count, on: count, scaled: { min, max, startNs, minLifetimeNs } };
    const speedHere = i === 0 ? (speed ?? 1) : speed;
    return { name: kind, ...counted, pages, pricePerHour, speed: speedHere, device };
  });
  return {
    kinds: kinds.filter((kind) => kind.gpus > 0),
    listed: kinds,
    kindNames: kinds.map(({ name }) => name),
  };
}

/** What is wrong with a list of kinds none of which has a GPU. */
export const NO_GPUS = 'needs at least one GPU: the count of every kind is 0';

const TOO_LITTLE = 'must hold at least one page (pageSize)';

interface ListedKind {
  readonly kind: string;
  readonly count: number;
  readonly min?: number;
  readonly max?: number;
}

function checkList(list: readonly ListedKind[], refuse: Refuse): void {
  const names = list.map(({ kind }) => kind);
  list.forEach(({ count, min = 0, max = count }, i) => {
    if (min > max) refuse(['gpus', i, 'min'], `must be at most max (${max}), found ${min}`);
    else if (count < min) refuse(['gpus', i, 'count'], `must be at least min (${min}), found ${count}`);
    else if (count > max) refuse(['gpus', i, 'count'], `must be at most max (${max}), found ${count}`);
  });
  names.forEach((name, i) => {
    if (names.indexOf(name) < i)
      refuse(['gpus', i, 'kind'], `${name} is listed twice: give one entry all of them`);
  });
  const total = list.reduce((sum, { count }) => sum + count, 0);
  if (total < 1) refuse(['gpus'], NO_GPUS);
  if (total > MOST_GPUS) refuse(['gpus'], `must be at most ${MOST_GPUS} GPUs, found ${total}`);
}

/** Undefined: the section does not say. */
function pagesOf({ pages, memory }: CacheSize, pageSize: number): number | undefined {
  return pages ?? (memory === undefined ? undefined : pagesIn(memory, pageSize));
}

function pagesIn(bytes: number, pageSize: number): number {
  return Math.floor(bytes / pageSize);
}
