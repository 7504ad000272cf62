import { ModelLabels } from './model-labels.js';

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
