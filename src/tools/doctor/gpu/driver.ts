import { advise, type Fix, type Row, untilReboot } from '../check.js';
import type { Answer } from './nvidia-smi.js';

/** Exit status of nvidia-smi when the driver is not loaded (its manual). */
const NOT_LOADED = 9;

/** Without a driver that answers there is nothing else to check. */
export const DRIVER: Row<{ readonly answer: Answer; readonly cudaWanted: boolean }> = {
  id: 'gpu.driver',
  title: 'NVIDIA driver',
  requiredFor: ['worker'],
  wanted: ({ cudaWanted }) => (cudaWanted ? 'answers, with a GPU' : 'answers, if installed'),
  why: 'If the driver hangs or fails, so does every model on its GPUs.',
  read: ({ answer, cudaWanted }) => {
    const hasNone = answer.kind === 'missing' || (answer.kind === 'gpus' && answer.gpus.length === 0);
    if (hasNone && !cudaWanted) return foundIn(answer);
    return {
      ok: !hasNone && answer.kind === 'gpus',
      found: foundIn(answer),
      fix: driverFix(answer),
    };
  },
};

function foundIn(answer: Answer): string {
  switch (answer.kind) {
    case 'missing':
      return 'no nvidia-smi: this machine has no NVIDIA driver';
    case 'timed-out':
      return `nvidia-smi did not answer within ${answer.limitMs / 1000} s`;
    case 'failed': {
      const how = answer.status === null ? '' : ` (exit status ${answer.status})`;
      return `nvidia-smi failed: ${answer.message || 'no message'}${how}`;
    }
    case 'garbage':
      return answer.line === '' ? 'nvidia-smi printed nothing' : `nvidia-smi printed: ${answer.line}`;
    case 'gpus': {
      const [first] = answer.gpus;
      if (first === undefined) return 'a driver, but no GPU';
      const names = answer.gpus.map(({ row }) => row.name ?? 'a GPU');
      const counts = [...new Set(names)].map((name) => {
        const count = names.filter((one) => one === name).length;
        return count === 1 ? name : `${count} × ${name}`;
      });
      return [['driver', first.row.driver].filter(Boolean).join(' '), ...counts].join(', ');
    }
  }
}

function driverFix(answer: Answer): Fix | null {
  if (answer.kind === 'missing') return advise('install the driver: https://www.nvidia.com/drivers');
  if (answer.kind === 'timed-out')
    return advise('reboot; if it hangs again, dmesg | grep -i xid shows which GPU fails');
  if (answer.kind !== 'failed') return null;
  if (/version mismatch/i.test(answer.message))
    return advise('reboot: the driver was updated while the old one is still loaded');
  return answer.status === NOT_LOADED ? untilReboot('modprobe nvidia') : null;
}
