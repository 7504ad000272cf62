import { exponential } from '../base/random/distributions.js';
import type { Random } from '../base/random/streams.js';
import { MOST_FAN_OUT, type PipelineSpec, type PipelineStep } from '../core/pipelines.js';

/** Distribution of the number of requests of a step per request of the pipeline. */
export type FanOut =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly from: number; readonly to: number }
  | { readonly kind: 'poisson'; readonly mean: number; readonly max: number }
  | { readonly kind: 'list'; readonly values: readonly number[] }
  | { readonly kind: 'length'; readonly mean: number };

/** A pipeline with the distributions of its steps' requests. */
export interface DrawnPipeline extends PipelineSpec {
  readonly steps: readonly (PipelineStep & { readonly fanOut: FanOut; readonly probability: number })[];
}

/** Draws the number of requests of each step. `length`: that of the pipeline's request. */
export function drawCounts({ steps }: DrawnPipeline, random: Random, length = 0): Int32Array {
  return Int32Array.from(steps, ({ fanOut, probability }) => {
    const isTaken = probability === 1 || random() < probability;
    const count = fanOut.kind === 'length' ? Math.min(length, MOST_FAN_OUT) : draw(fanOut, random);
    return isTaken ? count : 0;
  });
}

function draw(fanOut: Exclude<FanOut, { readonly kind: 'length' }>, random: Random): number {
  switch (fanOut.kind) {
    case 'constant':
      return fanOut.value;
    case 'uniform':
      return fanOut.from + Math.floor(random() * (fanOut.to - fanOut.from + 1));
    case 'list':
      return fanOut.values[Math.floor(random() * fanOut.values.length)];
    case 'poisson': {
      let count = 0;
      for (let left = fanOut.mean - exponential(random); left > 0; left -= exponential(random)) count++;
      return Math.min(fanOut.max, count);
    }
  }
}
