import { formatBytes } from '../experiment/units-text.js';
import type { Provider } from '../live/device.js';
import type { Check } from './check.js';
import type { Host } from './host.js';
import { advise, judged, type Question, skipped } from './verdict.js';

/**
 * Whether a weights cache of `cacheBytes` fits into what the memory of the device has left. Not for cuda: its GPUs
 * have checks of their own.
 */
export function memoryCheck(host: Host, device: Provider, cacheBytes: number): Check {
  const question: Question = {
    id: 'memory.device',
    title: 'Free memory for the weights cache',
    requiredFor: ['worker'],
    wanted: `at least ${formatBytes(cacheBytes)}`,
    why: 'The scheduler counts on the whole cache; a LOAD that finds no memory fails, or swaps and takes seconds.',
  };
  if (device !== 'cpu') return skipped(question, `onnxruntime does not tell for ${device}`);
  const { availableBytes } = host;
  if (availableBytes === null) return skipped(question, `cannot be found out on ${host.platform}`);
  const mend = advise('end what else uses memory, or choose a smaller cache with --memory');
  return judged(
    question,
    availableBytes >= cacheBytes,
    `${formatBytes(availableBytes)} for a cache of ${formatBytes(cacheBytes)}`,
    mend,
  );
}
