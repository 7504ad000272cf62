/** Limit on named models, since every label value is a time series of each metric; further ones share a value. */
const MOST_NAMED_MODELS = 50;
const OTHER = 'other';

/** Values of the label `model`: names of the first models, "other" for the rest. They are never removed. */
export class ModelLabels {
  private readonly numbers = new Map<string, number>();
  private readonly values: string[] = [];

  /** From 1: 0 stands for no model. */
  numberOf(name: string): number {
    const known = this.numbers.get(name);
    if (known !== undefined) return known;
    // Names that share a label need not be remembered.
    if (name === OTHER || this.numbers.size >= MOST_NAMED_MODELS) return MOST_NAMED_MODELS + 1;
    this.numbers.set(name, this.values.push(name));
    return this.values.length;
  }

  /** Label value of a number returned by `numberOf`. */
  valueOf(number: number): string {
    return this.values[number - 1] ?? OTHER;
  }
}
