import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Lanes } from '../../src/core/cluster.js';
import { LaneTimeline } from '../../src/core/timeline.js';

const GPUS = 40;

const operation = fc.record({
  kind: fc.constantFrom('startExec', 'endExec', 'startWeights', 'endWeights', 'close', 'open'),
  gpu: fc.nat(GPUS - 1),
  id: fc.nat(3),
});

function timelines(): LaneTimeline[] {
  return Array.from({ length: GPUS }, () => new LaneTimeline());
}

function idleOf(lanes: readonly LaneTimeline[]): number[] {
  return lanes.flatMap(({ outstanding }, gpu) => (outstanding === 0 ? [gpu] : []));
}

it.each([false, true])('knows the idle lanes of GPUs that are up, with one lane: %s', (oneLane) => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 80 }), (operations) => {
      const exec = timelines();
      const weights = oneLane ? exec : timelines();
      const lanes = new Lanes(exec, weights);
      for (let gpu = 0; gpu < GPUS; gpu++) lanes.setClosed(gpu, false);
      for (const { kind, gpu, id } of operations) {
        // A GPU that drains is closed while actions run, and opened again when all have ended.
        const isEmpty = exec[gpu].isEmpty && weights[gpu].isEmpty;
        if (kind === 'startExec' || kind === 'startWeights') lanes[kind](gpu, id, 5, 0);
        else if (kind === 'endExec' || kind === 'endWeights') lanes[kind](gpu, id, 9);
        else if (kind === 'close' || isEmpty) lanes.setClosed(gpu, kind === 'close');
        const all = Array.from({ length: GPUS }, (_, one) => one);
        expect(all.filter((one) => lanes.idleExec.has(one))).toEqual(idleOf(exec));
        expect(all.filter((one) => lanes.idleWeights.has(one))).toEqual(idleOf(weights));
      }
    }),
  );
});
