/** Padded lengths of inputs, from the setup of a run. */
export class Lengths {
  constructor(
    /** By model, ascending; empty: all of its inputs have one length. */
    private readonly ofModel: readonly (readonly number[])[],
    /** True if every input is padded to the longest. */
    private readonly alwaysLongest: boolean,
  ) {}

  /** Smallest length of the model that holds an input; 0: its length is irrelevant. */
  leastFor(model: number, length: number): number {
    const lengths = this.ofModel[model] ?? [];
    if (lengths.length === 0) return 0;
    if (length === 0) return lengths[lengths.length - 1];
    return lengths.find((most) => most >= length) ?? Number.POSITIVE_INFINITY;
  }

  /** Padded length of an input batched with nothing longer. */
  paddedFor(model: number, length: number): number {
    return this.leastFor(model, this.alwaysLongest ? 0 : length);
  }

  /** Problem with an INFER's padding, or ''. `needed`: the largest need of any of its requests. */
  problem(model: number, padded: number, needed: number): string {
    const lengths = this.ofModel[model] ?? [];
    if (lengths.length === 0)
      return padded === 0 ? '' : `was padded to ${padded}, and its model has no lengths`;
    if (!lengths.includes(padded)) return `was padded to ${padded}, which is no length of its model`;
    return padded === needed ? '' : `was padded to ${padded}, and its longest input needs ${needed}`;
  }
}
