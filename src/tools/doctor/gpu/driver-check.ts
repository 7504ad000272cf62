import type { Check, Fix } from '../check.js';
import { byHand } from './gpu-check.js';
import type { Answer } from './query.js';

/** Exit status of nvidia-smi when the driver is not loaded (its manual). */
const NOT_LOADED = 9;

/** Whether the driver answers at all; without it there is nothing else to check. */
export function driverCheck(answer: Answer, cudaWanted: boolean): Check {
  const status = statusOf(answer, cudaWanted);
  return {
    id: 'gpu.driver',
    title: 'NVIDIA driver',
    status,
    requiredFor: ['worker'],
    found: foundIn(answer),
    wanted: cudaWanted ? 'answers, with a GPU' : 'answers, if installed',
    why: 'If the driver hangs or fails, so does every model on its GPUs.',
    fix: status === 'failed' ? fixOf(answer) : null,
  };
}

function statusOf(answer: Answer, cudaWanted: boolean): Check['status'] {
  if (answer.kind === 'gpus' && answer.gpus.length > 0) return 'ok';
  if (answer.kind === 'gpus' || answer.kind === 'missing') return cudaWanted ? 'failed' : 'skipped';
  return 'failed';
}

function foundIn(answer: Answer): string {
  switch (answer.kind) {
    case 'missing':
      return 'no nvidia-smi: this machine has no NVIDIA driver';
    case 'timed-out':
      return `nvidia-smi did not answer within ${answer.limitMs / 1000} s`;
    case 'failed': {
      const how = answer.status === null ? '' : ` (exit status ${answer.status})`;
      return `nvidia-smi failed: ${answer.message === '' ? 'no message' : answer.message}${how}`;
    }
    case 'garbage':
      return answer.line === '' ? 'nvidia-smi printed nothing' : `nvidia-smi printed: ${answer.line}`;
    case 'gpus': {
      const names = [...new Set(answer.gpus.map(({ row }) => row.name ?? 'a GPU'))].map((name) => {
        const count = answer.gpus.filter(({ row }) => (row.name ?? 'a GPU') === name).length;
        return count === 1 ? name : `${count} × ${name}`;
      });
      const version = answer.gpus[0]?.row.driver;
      const driver = version === undefined ? 'driver' : `driver ${version}`;
      return names.length === 0 ? 'a driver, but no GPU' : `${driver}, ${names.join(', ')}`;
    }
  }
}

function fixOf(answer: Answer): Fix | null {
  if (answer.kind === 'missing') return byHand('install the driver: https://www.nvidia.com/drivers');
  if (answer.kind === 'timed-out') {
    return byHand('reboot; if it hangs again, dmesg | grep -i xid shows which GPU fails');
  }
  if (answer.kind !== 'failed') return null;
  if (/version mismatch/i.test(answer.message)) {
    return byHand('reboot: the driver was updated while the old one is still loaded');
  }
  return answer.status === NOT_LOADED
    ? { commands: ['modprobe nvidia'], asUser: false, lostAtReboot: true }
    : null;
}
