import { formatPercent } from '../../report/format.js';
import type { ScalingPoint } from './point.js';
import type { ScalingMode } from './size.js';

/** What most of the loss comes from. */
export type Loss = 'none' | 'controller' | 'processors' | 'loads' | 'uneven' | 'idle' | 'batches' | 'device';

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
  /** GPUs by name: INFERs run on the processors of this machine. */
  readonly onCpu: boolean;
  /** Tensors of a request that the controller's thread copies. */
  readonly inputBytes: number;
}

/** An efficiency that counts as scaling. */
export const GOOD = 0.9;
/** Losses below this need no reason. */
const WORTH = 0.03;
/** A thread or a machine that is busy for this share of the time has no room left. */
const SATURATED = 0.9;
/** A thread that waits longer for processors, as a share of the time, is held up by others. */
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
  const { factors, activity, gpus, requestsPerS } = point;
  if (1 - point.efficiency.mean < WORTH) return { loss: 'none', reason: '' };
  const worst = Math.min(factors.busy, factors.batches, factors.device);
  const lost = formatPercent(1 - worst);
  if (worst === factors.device) {
    if (onCpu) {
      return {
        loss: 'processors',
        reason: `INFERs take longer, which costs ${lost}: ${gpus} GPUs share ${cores} processors, their caches and the memory.`,
      };
    }
    return { loss: 'device', reason: `INFERs take longer than with ${base.gpus}, which costs ${lost}.` };
  }
  if (worst === factors.batches) {
    const sizes = `${activity.meanBatch.toFixed(1)} requests, ${base.activity.meanBatch.toFixed(1)} with ${base.gpus}`;
    return {
      loss: 'batches',
      reason: `Batches hold ${sizes}, which costs ${lost}: more --clients would fill them.`,
    };
  }
  const { waitShare, loopBusy } = activity;
  const idle = `GPUs are busy for ${formatPercent(activity.execMean)} of the time, the least busy for ${formatPercent(activity.execMin)}`;
  const tensors =
    inputBytes === 0
      ? ''
      : `, with clients that send ${((requestsPerS * inputBytes) / 1e9).toFixed(1)} GB/s of tensors`;
  const thread = `busy for ${formatPercent(loopBusy)} of the time (${formatPercent(activity.stepShare)} in steps${tensors})`;
  if (waitShare !== null && waitShare >= MUCH_WAIT) {
    return {
      loss: 'processors',
      reason:
        `${idle}. The controller's thread is ${thread} and waits for a processor for ${formatPercent(waitShare)}: there is ` +
        `more to run than ${cores} processors take, and this process uses ${activity.cores.toFixed(1)} of them.`,
    };
  }
  if (loopBusy >= SATURATED) {
    return {
      loss: 'controller',
      reason: `${idle}, as the controller is at its limit: its thread is ${thread}.`,
    };
  }
  if (activity.cores >= SATURATED * cores) {
    return {
      loss: 'processors',
      reason: `${idle}: this process uses ${activity.cores.toFixed(1)} of ${cores} processors.`,
    };
  }
  if (activity.loads > MANY_LOADS * gpus) {
    return {
      loss: 'loads',
      reason: `${idle}: a trial has ${Math.round(activity.loads)} LOADs, ${Math.round(base.activity.loads)} with ${base.gpus}.`,
    };
  }
  if (activity.execMin < (1 - UNEVEN) * activity.execMean) {
    return { loss: 'uneven', reason: `${idle}: work is spread unevenly, at its end above all.` };
  }
  return {
    loss: 'idle',
    reason: `${idle}: they wait for orders, as results come up to ${activity.resultDelayMs.toFixed(1)} ms late.`,
  };
}
