/** Every label value is a time series of each metric that has it: more models than this share one. */
const MOST_NAMED_MODELS = 50;
const OTHER = 'other';

/** Values of the label `model`: names of the first models, "other" for the rest. */
export class ModelLabels {
  /** Distinct values. They never go, but more come with models. */
  readonly values: string[] = [];
  private readonly byModel: number[] = [];

  /** By index; '' where there is no model. */
  constructor(names: readonly string[]) {
    for (const [model, name] of names.entries()) if (name !== '') this.set(model, name);
  }

  /** Another model is at the index. */
  set(model: number, name: string): void {
    const known = this.values.indexOf(name);
    const isRoom = this.values.filter((value) => value !== OTHER).length < MOST_NAMED_MODELS;
    this.byModel[model] = known >= 0 ? known : this.add(isRoom ? name : OTHER);
  }

  /** Index of a model's label among the values. */
  indexOf(model: number): number {
    return this.byModel[model];
  }

  /** Models with a label. */
  modelsOf(label: number): number[] {
    return [...this.byModel.keys()].filter((model) => this.byModel[model] === label);
  }

  private add(value: string): number {
    const known = this.values.indexOf(value);
    return known >= 0 ? known : this.values.push(value) - 1;
  }
}
