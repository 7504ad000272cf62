import type * as z from 'zod';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { Scaler } from '../core/scaler.js';
import type { KindFacts } from '../scalers/autoscaler.js';
import { isSection } from './document.js';
import { scaledCluster } from './scaled-cluster.js';
import type { clusterSchema } from './schema-cluster.js';
import { type ScalerChoice, scalerEntryOf } from './schema-scaler.js';

/** What says how many GPUs a server needs. */
export interface ServerScaling {
  readonly intervalNs: number;
  readonly kinds: readonly KindFacts[];
  create(): Scaler;
}

interface GivenSettings {
  readonly cluster: z.output<typeof clusterSchema>;
  readonly scaler: ScalerChoice;
}

/** Whether a section names a scaler. */
export function scales(scaler: unknown): boolean {
  return isSection(scaler) && scaler.kind !== 'none';
}

/** Null: no scaler is wanted. Throws `E_CONFIG_VALUE` for one that a server can't have. */
export function serverScaling(
  { cluster, scaler }: GivenSettings,
  placeOf: (path: readonly string[]) => ErrorPlace,
): ServerScaling | null {
  const entry = scalerEntryOf(scaler);
  if (entry === null) return null;
  const fail = (what: string) => {
    throw new EscapementError('E_CONFIG_VALUE', what, placeOf(['scaler', 'kind']));
  };
  if (entry.needsHindsight === true)
    fail(`${scaler.kind} must know all arrivals in advance: simulations only`);
  const { kinds } = scaledCluster({ cluster, scaler, workload: [] }, placeOf);
  const { intervalNs, options } = scaler;
  return {
    intervalNs,
    kinds: kinds.map(({ name, pricePerHour, scaled }) => ({ name: name ?? '', pricePerHour, ...scaled })),
    create: () => entry.create({ hindsight: [], hindsightNs: intervalNs }, options),
  };
}
