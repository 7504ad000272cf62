import { EscapementError } from '../../base/errors.js';
import { NS_PER_US } from '../../base/units.js';
import type { Experiment } from '../../config/experiment.js';
import { openWorkloads } from '../../config/open-workloads.js';

/** More requests do not change the shares by much. */
const REQUESTS = 10_000;

/**
 * Each model's share of the requests of an experiment's workload, from those that come first. Clients of a closed loop
 * are answered at once. Throws what opening the workload throws, and `E_CONFIG_VALUE` if nothing arrives.
 */
export async function workloadMix(experiment: Experiment): Promise<number[]> {
  const { source } = await openWorkloads(experiment);
  const counts = new Array<number>(experiment.models.length).fill(0);
  let requests = 0;
  while (requests < REQUESTS) {
    if (source.starved) {
      await source.refill();
      continue;
    }
    const { timeNs, model, user } = source;
    if (timeNs === Number.POSITIVE_INFINITY) break;
    counts[model]++;
    requests++;
    source.advance();
    source.answered?.(user, timeNs + NS_PER_US);
  }
  if (requests === 0) {
    throw new EscapementError('E_CONFIG_VALUE', 'nothing arrives, so there is no mix of models to measure', {
      file: experiment.file,
      key: 'workload',
    });
  }
  return counts.map((count) => count / requests);
}
