/** Every label value is a time series of each metric that has it: more models than this share one. */
const MOST_NAMED_MODELS = 50;

/** Values of the label `model`: names of the first models, "other" for the rest. */
export class ModelLabels {
  /** Distinct values. */
  readonly values: readonly string[];

  constructor(names: readonly string[]) {
    const named = names.slice(0, MOST_NAMED_MODELS);
    this.values = names.length > named.length ? [...named, 'other'] : named;
  }

  /** Index of a model's label among the values. */
  indexOf(model: number): number {
    return Math.min(model, this.values.length - 1);
  }
}
