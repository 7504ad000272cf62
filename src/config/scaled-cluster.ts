import type * as z from 'zod';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { clusterSchema } from './schema-cluster.js';
import { type ScalerChoice, scalerEntryOf } from './schema-scaler.js';

type Cluster = z.output<typeof clusterSchema>;

interface ScaledConfig {
  readonly cluster: Cluster;
  readonly scaler: ScalerChoice;
  readonly workload: readonly { readonly kind: string }[];
}

/** For more there is no room on the largest cluster that is allowed. */
const MOST_GPUS = 10_000;

/**
 * The cluster with a number for each GPU that its scaler may order; as it is where there is no scaler. Throws `E_CONFIG_VALUE`
 * for a scaler that could do nothing, or that would have to see what it can't.
 */
export function scaledCluster(
  { cluster, scaler, workload }: ScaledConfig,
  placeOf: (key: readonly string[]) => ErrorPlace,
): Cluster {
  const entry = scalerEntryOf(scaler);
  if (entry === null) return cluster;
  const fail = (what: string, key = ['scaler', 'kind']) => {
    throw new EscapementError('E_CONFIG_VALUE', what, placeOf(key));
  };
  const { listed, kindNames } = cluster;
  if (kindNames.length === 0)
    fail('needs kinds that may grow: cluster.gpus: [{ kind: gpu, count: 2, max: 8, start: 60s }]');
  if (listed.every(({ scaled }) => scaled.min === scaled.max))
    fail('can change nothing, as min is max for each kind of GPUs: give max in cluster.gpus');
  if (listed.every(({ scaled }) => scaled.min === 0))
    fail('must keep one GPU at least, and min is 0 for each kind: give min in cluster.gpus');
  if (entry.needsHindsight === true && workload.some(({ kind }) => kind === 'closed-loop'))
    fail(
      `${scaler.kind} must know all arrivals in advance, and closed-loop clients ask when they are answered`,
    );
  const kinds = listed
    .filter(({ scaled }) => scaled.max > 0)
    .map((kind) => ({ ...kind, gpus: kind.scaled.max }));
  const gpus = kinds.reduce((sum, kind) => sum + kind.gpus, 0);
  if (gpus > MOST_GPUS)
    fail(`must have at most ${MOST_GPUS} GPUs with the max of each kind, found ${gpus}`, ['cluster', 'gpus']);
  return { ...cluster, gpus, kinds, pages: kinds[0].pages };
}
