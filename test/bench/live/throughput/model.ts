/** A model with one small input and one small output. */
export const MODEL = { name: 'small', inputBytes: 256, outputBytes: 256 } as const;

/** What clients ask for: `http` and `grpc` the model above with binary data, `json:N` one that takes N numbers, as JSON. */
export type LoadKind = 'http' | 'grpc' | `json:${number}`;

/** Numbers in the JSON of each request; 0: none. */
export function numbersOf(kind: LoadKind): number {
  return kind.startsWith('json:') ? Number(kind.slice('json:'.length)) : 0;
}

/** Name of the model that takes so many numbers. */
export function jsonModel(numbers: number): string {
  return `numbers-${numbers}`;
}

/** The profile of a model, of the one that takes so many numbers if that is not 0; with `--time-scale 0` no time of it counts. */
export function profileText(numbers = 0): string {
  const madeUp = 'made up';
  return JSON.stringify({
    ...MODEL,
    ...(numbers === 0 ? {} : { name: jsonModel(numbers), inputBytes: 4 * numbers }),
    gpu: 'none',
    runtime: 'simulated',
    precision: 'FP32',
    weightsBytes: 1_000_000,
    loadMs: 1,
    batches: [1, 2, 4, 8, 16].map((batch) => ({ batch, medianMs: 1 + 0.1 * batch })),
    source: { weights: madeUp, load: madeUp, copies: madeUp, batches: madeUp },
  });
}
