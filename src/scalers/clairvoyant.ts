import type { Scaler, ScalingDecision, ScalingView } from '../core/scaler.js';
import type { PolicyOptions } from '../policies/entry.js';
import type { ScalerContext, ScalerEntry } from './entry.js';
import { cheapestFleet } from './mix.js';
import { gpusText, neededText, secondsText, unitOf } from './reasons.js';

/**
 * Knows the work of the whole run in advance. At each decision it wants the maximum number of GPUs needed until a GPU
 * ordered at the next decision would be in service. Given the GPUs needed in each interval, this minimizes paid time,
 * because a GPU needed by then must be on or starting now (tests compare with all possible plans).
 */
class Clairvoyant implements Scaler {
  readonly name = 'clairvoyant';

  constructor(
    private readonly context: ScalerContext,
    private readonly headroom: number,
  ) {}

  decide({ nowNs, intervalNs, kinds }: ScalingView): ScalingDecision {
    const { hindsight, hindsightNs } = this.context;
    const startNs = Math.max(...kinds.map((kind) => kind.startNs));
    const from = Math.floor(nowNs / hindsightNs);
    const to = Math.ceil((nowNs + startNs + intervalNs) / hindsightNs);
    let work = 0;
    for (let i = from; i < to; i++) work = Math.max(work, hindsight[i] ?? 0);
    const need = work * this.headroom;
    const gpus = cheapestFleet(kinds, need);
    const ahead = `work of up to ${gpusText(work)} ${unitOf(kinds)} in the next ${secondsText(startNs + intervalNs)}`;
    return {
      gpus,
      reason: `${ahead}, times headroom ${this.headroom}: ${neededText(kinds, gpus, need)}`,
    };
  }
}

export const clairvoyantEntry: ScalerEntry = {
  kind: 'clairvoyant',
  summary: 'Knows all arrivals in advance, to show the value of a perfect forecast. Simulated only.',
  needsHindsight: true,
  options: {
    headroom: {
      type: 'number',
      default: 1.25,
      min: 1,
      describe: 'GPUs per GPU of arriving work, in batches as large as possible.',
    },
  },
  create: (context, { headroom }: PolicyOptions) => new Clairvoyant(context, headroom as number),
};
