import { formatBytes } from '../../config/units-text.js';
import type { Provider } from '../../live/device.js';
import type { Check } from './check.js';
import type { Host } from './host.js';
import { advise, checked, type Question, skipped } from './verdict.js';

/**
 * Whether a weights cache of `cacheBytes` fits into the free memory of the device. Not for cuda, whose GPUs have their
 * own checks.
 */
export function memoryCheck(host: Host, device: Provider, cacheBytes: number): Check {
  const question: Question = {
    id: 'memory.device',
    title: 'Free memory for the weights cache',
    requiredFor: ['worker'],
    wanted: `at least ${formatBytes(cacheBytes)}`,
    why: 'The scheduler relies on the whole cache; a LOAD without memory fails, or swaps for seconds.',
  };
  if (device !== 'cpu') return skipped(question, `onnxruntime does not report it for ${device}`);
  const { availableBytes } = host;
  if (availableBytes === null) return skipped(question, `unknown on ${host.platform}`);
  const fix = advise('stop other programs that use memory, or choose a smaller cache with --memory');
  return checked(
    question,
    availableBytes >= cacheBytes,
    `${formatBytes(availableBytes)} for a cache of ${formatBytes(cacheBytes)}`,
    fix,
  );
}
