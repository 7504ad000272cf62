/** Limit on named models, since every label value is a time series of each metric; further ones share a value. */
const MOST_NAMED_MODELS = 50;
const OTHER = 'other';

/** Values of the label `model`: names of the first models, "other" for the rest. */
export class ModelLabels {
  /** Distinct values. They are never removed, but new models may add some. */
  readonly values: string[] = [];
  private readonly byModel: number[] = [];

  /** By index; '' if there is no model. */
  constructor(names: readonly string[]) {
    for (const [model, name] of names.entries()) if (name !== '') this.set(model, name);
  }

  /** Sets the model at the index. */
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

/** Values of the label `model` by name: those of the first models, "other" for the rest. They are never removed. */
export class NameLabels {
  private readonly labels = new ModelLabels([]);
  private readonly indices = new Map<string, number>();

  /** From 1: 0 stands for no model. */
  numberOf(name: string): number {
    let index = this.indices.get(name);
    if (index === undefined) {
      index = this.indices.size;
      this.labels.set(index, name);
      // Names that share a label need not be remembered.
      if (this.labels.values[this.labels.indexOf(index)] === name) this.indices.set(name, index);
    }
    return this.labels.indexOf(index) + 1;
  }

  /** Label value of a number returned by `numberOf`. */
  valueOf(number: number): string {
    return this.labels.values[number - 1];
  }
}

/**
 * Children of a labelled metric by a small integer, each looked up by its labels only once: prom-client's own look-up
 * costs more than counting.
 */
export class Children<T> {
  private readonly made: (T | undefined)[] = [];

  constructor(private readonly make: (index: number) => T) {}

  get(index: number): T {
    const child = this.made[index];
    if (child !== undefined) return child;
    const made = this.make(index);
    this.made[index] = made;
    return made;
  }
}
