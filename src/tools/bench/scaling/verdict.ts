import { formatPercent } from '../../../text/numbers.js';
import type { ScalingPoint } from './point.js';
import type { ScalingMode } from './size.js';

/** What most of the loss comes from. */
type Loss = 'none' | 'controller' | 'cores' | 'loads' | 'uneven' | 'idle' | 'batches' | 'device';

export interface ScalingVerdict {
  /** One sentence. */
  readonly title: string;
  /** At the most GPUs. */
  readonly efficiency: number;
  /** The most GPUs that keep `GOOD`; the base always does. */
  readonly goodGpus: number;
  readonly loss: Loss;
  /** Why efficiency is lost at the most GPUs. */
  readonly reason: string;
}

/** What the rules need to know of the machine. */
export interface Circumstances {
  /** Processors of the machine. */
  readonly cores: number;
  /** GPUs in name only: INFERs run on the cores of this machine. */
  readonly onCpu: boolean;
  /** Tensors of a request that the controller's thread copies. */
  readonly inputBytes: number;
}

/** An efficiency that counts as scaling. */
const GOOD = 0.9;
/** Losses below this need no reason. */
const WORTH = 0.03;
/** A thread or a machine that is busy for this share of the time has no room left. */
const SATURATED = 0.9;
/** A thread that waits longer for cores, as a share of the time, is held up by others. */
const MUCH_WAIT = 0.15;
/** The least busy GPU may be below the mean by this share before work counts as spread unevenly. */
const UNEVEN = 0.1;
/** LOADs of a trial and GPU that are no accident. */
const MANY_LOADS = 2;

/** `points`: by number of GPUs, ascending; the first is the base. */
export function judgeScaling(
  mode: ScalingMode,
  points: readonly ScalingPoint[],
  circumstances: Circumstances,
): ScalingVerdict {
  const last = points[points.length - 1];
  const efficiency = last.efficiency.mean;
  const goodGpus = Math.max(
    ...points.filter((point) => point.efficiency.mean >= GOOD).map(({ gpus }) => gpus),
  );
  const good = formatPercent(GOOD).replace('.0', '');
  const where = goodGpus === last.gpus ? `${good} is kept` : `${good} is kept up to ${goodGpus}`;
  const name = mode === 'strong' ? 'Strong' : 'Weak';
  return {
    title: `${name} scaling: ${formatPercent(efficiency)} efficiency on ${last.gpus} GPUs; ${where}`,
    efficiency,
    goodGpus,
    ...explain(last, points[0], circumstances),
  };
}

/** The largest factor of the loss, and what explains it. */
function explain(
  point: ScalingPoint,
  base: ScalingPoint,
  { cores, onCpu, inputBytes }: Circumstances,
): Pick<ScalingVerdict, 'loss' | 'reason'> {
  const { factors, activity, gpus, throughputRps } = point;
  if (1 - point.efficiency.mean < WORTH) return { loss: 'none', reason: '' };
  const worst = Math.min(factors.busy, factors.batches, factors.device);
  const lost = formatPercent(1 - worst);
  if (worst === factors.device) {
    if (onCpu) {
      return {
        loss: 'cores',
        reason: `INFERs take longer, which costs ${lost}: ${gpus} GPUs share ${cores} cores, their caches and the memory.`,
      };
    }
    return { loss: 'device', reason: `INFERs take longer than with ${base.gpus}, which costs ${lost}.` };
  }
  if (worst === factors.batches) {
    const sizes = `${activity.meanBatch.toFixed(1)} requests, ${base.activity.meanBatch.toFixed(1)} with ${base.gpus}`;
    return {
      loss: 'batches',
      reason: `Batches hold ${sizes}, which costs ${lost}: a higher --concurrency would fill them.`,
    };
  }
  const { waitShare, loopBusy } = activity;
  const idle = `GPUs are busy for ${formatPercent(activity.execMean)} of the time, the least busy for ${formatPercent(activity.execMin)}`;
  const tensors =
    inputBytes === 0
      ? ''
      : `, with clients that send ${((throughputRps * inputBytes) / 1e9).toFixed(1)} GB/s of tensors`;
  const thread = `busy for ${formatPercent(loopBusy)} of the time (${formatPercent(activity.stepShare)} in steps${tensors})`;
  if (waitShare !== null && waitShare >= MUCH_WAIT) {
    return {
      loss: 'cores',
      reason:
        `${idle}. The controller's thread is ${thread} and waits for a core for ${formatPercent(waitShare)}: there is ` +
        `more to run than ${cores} cores can handle, and this process uses ${activity.cores.toFixed(1)} of them.`,
    };
  }
  if (loopBusy >= SATURATED) {
    return {
      loss: 'controller',
      reason: `${idle}, because the controller is at its limit: its thread is ${thread}.`,
    };
  }
  if (activity.cores >= SATURATED * cores) {
    return {
      loss: 'cores',
      reason: `${idle}: this process uses ${activity.cores.toFixed(1)} of ${cores} cores.`,
    };
  }
  if (activity.loads > MANY_LOADS * gpus) {
    return {
      loss: 'loads',
      reason: `${idle}: there are ${Math.round(activity.loads)} LOADs in a trial, ${Math.round(base.activity.loads)} with ${base.gpus}.`,
    };
  }
  if (activity.execMin < (1 - UNEVEN) * activity.execMean) {
    return { loss: 'uneven', reason: `${idle}: work is spread unevenly, above all at the end.` };
  }
  return {
    loss: 'idle',
    reason: `${idle}: they wait for orders, as results come up to ${activity.resultDelayMs.toFixed(1)} ms late.`,
  };
}
