import { NS_PER_MS } from '../../base/units.js';
import type { Experiment } from '../../config/experiment.js';
import type { Case } from '../../config/sweep-section.js';
import { formatDuration } from '../../config/units-text.js';

/** Changes to an experiment, with a name. */
export type WhatIf = Pick<Case, 'name' | 'overrides'>;

/**
 * For each kind of GPUs, the loss of its first one, which policies tend to fill first, for good: when the run is warm,
 * at the end of its warm-up, or else after a tenth of it. Requests count from then on, so nothing before softens it.
 */
export function lossesOf({ cluster, warmupNs, writtenValue }: Experiment, durationSeconds: number): WhatIf[] {
  const failures = writtenValue('cluster.failures') as readonly object[];
  const at = formatDuration(warmupNs > 0 ? warmupNs : Math.floor(durationSeconds * 100) * NS_PER_MS);
  let gpu = 0;
  return cluster.kinds.map(({ name, gpus }) => {
    const lost = { at, gpu, for: 'forever' };
    gpu += gpus;
    return {
      name: `one ${name ?? 'GPU'} lost`,
      overrides: [`cluster.failures=${JSON.stringify([...failures, lost])}`, `warmup=${at}`],
    };
  });
}
