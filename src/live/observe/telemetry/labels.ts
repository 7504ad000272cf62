/** Default limit on named models, since every label value is a time series of each metric; further ones share a value. */
export const MOST_NAMED_MODELS = 1000;
const OTHER = 'other';

/** Values of the label `model`: names of the first models, "other" for the rest. They are never removed. */
export class ModelLabels {
  private readonly numbers = new Map<string, number>();
  private readonly values: string[] = [];

  constructor(readonly most = MOST_NAMED_MODELS) {}

  /** From 1: 0 stands for no model. */
  numberOf(name: string): number {
    const known = this.known(name);
    if (known > 0) return known;
    // Names that share a label need not be remembered.
    if (name === OTHER || this.numbers.size >= this.most) return this.most + 1;
    this.numbers.set(name, this.values.push(name));
    return this.values.length;
  }

  /** Number of a name that has one of its own; 0: it has none yet. */
  known(name: string): number {
    return this.numbers.get(name) ?? 0;
  }

  /** Label value of a number returned by `numberOf`. */
  valueOf(number: number): string {
    return this.values[number - 1] ?? OTHER;
  }
}
