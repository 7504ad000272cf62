import { describe, expect, it } from 'vitest';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** Three models, warm on one GPU: 3, 5 and 8 ms at batch 1, 2 and 4. SLO 20 ms. */
function edgeServing(cluster: Partial<HarnessOptions> = {}): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'edgeserving',
    options: { maxBatch: 8 },
    models: models(3),
    sloNs: 20 * MS,
    ...cluster,
  });
  harness.controller.gpuUp(0, [0, 1, 2]);
  return harness;
}

describe('edgeserving: batches', () => {
  it('drops nothing: what is late is served late', () => {
    const harness = edgeServing();
    harness.arrive(0, [0]);
    harness.arrive(1, [1], 1);
    expect(harness.end(50)).toEqual(['INFER model 1 batch 1 on GPU 0']);
    harness.end(53);
    expect(harness.answers).toEqual(['request 0 late at 50', 'request 1 late at 53']);
  });
});

describe('edgeserving: the stability score', () => {
  it.each([1, 2, 3, 4, 5])('agrees with the formula written out, on random queues (seed %d)', (seed) => {
    const random = linearCongruential(seed);
    const harness = edgeServing();
    const queues: { readonly arrivalMs: number; readonly sloMs: number }[][] = [[], [], []];
    harness.arrive(0, [0]);
    let endMs = 3;
    let nextMs = 0;
    for (let batch = 0; batch < 40; batch++) {
      for (; nextMs < endMs; nextMs += 3 * random()) {
        const model = Math.floor(3 * random());
        const sloMs = random() < 0.5 ? 5 : 40;
        const arrivalMs = Math.floor(nextMs * MS) / MS;
        harness.arrive(arrivalMs, [model], sloMs);
        queues[model].push({ arrivalMs, sloMs });
      }
      const [sent] = harness.end(endMs);
      const model = Number(/INFER model (\d)/.exec(sent)?.[1]);
      const least = Math.min(...[0, 1, 2].map((other) => score(queues, other, endMs)));
      expect(score(queues, model, endMs)).toBeCloseTo(least, 9);
      endMs = takeNext(queues, model, endMs);
    }
  });
});

interface Waiting {
  readonly arrivalMs: number;
  readonly sloMs: number;
}

/** The published rule, request by request. */
function score(queues: readonly (readonly Waiting[])[], model: number, nowMs: number): number {
  if (queues[model].length === 0) return Number.POSITIVE_INFINITY;
  const next = nextBatch(queues[model].length);
  const endMs = nowMs + next.execMs;
  return queues
    .flatMap((queue, at) => (at === model ? queue.slice(next.size) : queue))
    .map(({ arrivalMs, sloMs }) => Math.min(10, Math.exp((endMs - arrivalMs) / sloMs - 1)))
    .reduce((sum, urgency) => sum + urgency, 0);
}

function nextBatch(length: number): { size: number; execMs: number } {
  if (length === 1) return { size: 1, execMs: 3 };
  return length === 2 ? { size: 2, execMs: 5 } : { size: 4, execMs: 8 };
}

/** The model's next batch leaves its queue; returns when it ends. */
function takeNext(queues: readonly Waiting[][], model: number, nowMs: number): number {
  const { size, execMs } = nextBatch(queues[model].length);
  queues[model].splice(0, size);
  return nowMs + execMs;
}

function linearCongruential(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
