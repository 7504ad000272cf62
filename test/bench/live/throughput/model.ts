/** What is asked for: a model with one small input and one small output. */
export const MODEL = { name: 'small', inputBytes: 256, outputBytes: 256 } as const;

/** Its profile; with `--time-scale 0` no time of it counts. */
export function profileText(): string {
  const madeUp = 'made up';
  return JSON.stringify({
    ...MODEL,
    gpu: 'none',
    runtime: 'simulated',
    precision: 'FP32',
    weightsBytes: 1_000_000,
    loadMs: 1,
    batches: [1, 2, 4, 8, 16].map((batch) => ({ batch, medianMs: 1 + 0.1 * batch })),
    source: { weights: madeUp, load: madeUp, copies: madeUp, batches: madeUp },
  });
}
