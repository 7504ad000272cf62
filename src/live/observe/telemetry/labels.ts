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

/** Values of the label `model` by name: those of the first models, "other" for the rest. They never go. */
export class NameLabels {
  private readonly labels = new ModelLabels([]);
  private readonly indices = new Map<string, number>();

  /** Counted from 1: 0 is for what is of no model. */
  numberOf(name: string): number {
    let index = this.indices.get(name);
    if (index === undefined) {
      index = this.indices.size;
      this.labels.set(index, name);
      // What shares a label need not be remembered.
      if (this.labels.values[this.labels.indexOf(index)] === name) this.indices.set(name, index);
    }
    return this.labels.indexOf(index) + 1;
  }

  /** Of a number that `numberOf` gave. */
  valueOf(number: number): string {
    return this.labels.values[number - 1];
  }
}

/**
 * Children of a labelled metric by a small integer, each looked up by its labels only once: prom-client's
 * own look-up costs more than counting.
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
