import type { Cluster } from '../../core/cluster.js';

/** Number of models on each GPU. Takes time proportional to the copies, not to all pairs. */
export function warmModels({ models, gpus, warm }: Pick<Cluster, 'models' | 'gpus' | 'warm'>): Int32Array {
  const counts = new Int32Array(gpus);
  for (let model = 0; model < models.length; model++) {
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) counts[gpu]++;
  }
  return counts;
}
