import type * as z from 'zod';
import type { ErrorPlace } from '../base/errors.js';
import type { Scaler } from '../core/scaler.js';
import type { KindFacts } from '../scalers/autoscaler.js';
import { refuse } from './fields.js';
import { type clusterSchema, MOST_GPUS } from './schema-cluster.js';
import { type ScalerChoice, scalerEntryOf } from './schema-policy.js';

type Cluster = z.output<typeof clusterSchema>;

interface ScaledConfig {
  readonly cluster: Cluster;
  readonly scaler: ScalerChoice;
  /** Absent: that of a server, which is not known in advance. */
  readonly workload?: readonly { readonly kind: string }[];
}

/**
 * The cluster with an index for each GPU that its scaler may order; unchanged without a scaler. Throws `E_CONFIG_VALUE`
 * for a scaler that could do nothing, or that needs information it does not have.
 */
export function scaledCluster(
  { cluster, scaler, workload }: ScaledConfig,
  placeOf: (key: readonly string[]) => ErrorPlace,
): Cluster {
  const entry = scalerEntryOf(scaler);
  if (entry === null) return cluster;
  const fail = (what: string, key = ['scaler', 'kind']) => {
    refuse(what, placeOf(key));
  };
  if (cluster.failures.length > 0)
    fail('needs a fixed number of GPUs: leave out the scaler', ['cluster', 'failures']);
  const { listed, kindNames } = cluster;
  if (kindNames.length === 0)
    fail('needs kinds that may grow: cluster.gpus: [{ kind: gpu, count: 2, max: 8, start: 60s }]');
  if (listed.every(({ scaled }) => scaled.min === scaled.max))
    fail('can change nothing, as min is max for each kind of GPUs: give max in cluster.gpus');
  if (listed.every(({ scaled }) => scaled.min === 0))
    fail('must keep one GPU at least, and min is 0 for each kind: give min in cluster.gpus');
  if (entry.needsHindsight === true && (workload?.some(({ kind }) => kind === 'closed-loop') ?? true))
    fail(
      `${scaler.kind} must know all arrivals in advance${workload === undefined ? ': simulations only' : ', and closed-loop clients ask when they are answered'}`,
    );
  const kinds = listed
    .filter(({ scaled }) => scaled.max > 0)
    .map((kind) => ({ ...kind, gpus: kind.scaled.max }));
  const gpus = kinds.reduce((sum, kind) => sum + kind.gpus, 0);
  if (gpus > MOST_GPUS)
    fail(`must have at most ${MOST_GPUS} GPUs with the max of each kind, found ${gpus}`, ['cluster', 'gpus']);
  return { ...cluster, gpus, kinds, pages: kinds[0].pages };
}

/** Decides how many GPUs a server needs. */
export interface ServerScaling {
  readonly intervalNs: number;
  readonly kinds: readonly KindFacts[];
  create(): Scaler;
}

/** Null without a scaler. Throws `E_CONFIG_VALUE` for one that a server does not support. */
export function serverScaling(
  { cluster, scaler }: Pick<ScaledConfig, 'cluster' | 'scaler'>,
  placeOf: (path: readonly string[]) => ErrorPlace,
): ServerScaling | null {
  const entry = scalerEntryOf(scaler);
  if (entry === null) return null;
  const { kinds } = scaledCluster({ cluster, scaler }, placeOf);
  const { intervalNs, options } = scaler;
  return {
    intervalNs,
    kinds: kinds.map(({ name, pricePerHour, scaled }) => ({ name: name ?? '', pricePerHour, ...scaled })),
    create: () => entry.create({ hindsight: [], hindsightNs: intervalNs }, options),
  };
}
