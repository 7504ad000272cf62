/** Weights of a model on one GPU, as the worker knows them. */
const ABSENT = 0;
const ARRIVING = 1;
const PRESENT = 2;
const STATE_BITS = 2;
const STATE_MASK = (1 << STATE_BITS) - 1;

/**
 * Which weights are on a GPU, and a generation for each that grows whenever they go: who remembers the
 * generation can tell later whether they are still the same. Both in one number per model, because they are always
 * looked at together.
 */
export class WeightsTable {
  private cells: Int32Array;

  constructor(models: number) {
    this.cells = new Int32Array(models);
  }

  /** There are at least so many models. */
  reach(models: number): void {
    if (models <= this.cells.length) return;
    const cells = new Int32Array(2 * models);
    cells.set(this.cells);
    this.cells = cells;
  }

  /** Complete and ready for INFER. */
  isPresent(model: number): boolean {
    return (this.cells[model] & STATE_MASK) === PRESENT;
  }

  /** Complete or on their way: they take pages. */
  takesPages(model: number): boolean {
    return (this.cells[model] & STATE_MASK) !== ABSENT;
  }

  generation(model: number): number {
    return this.cells[model] >>> STATE_BITS;
  }

  /** A LOAD has begun. */
  arrive(model: number): void {
    this.cells[model] = (this.cells[model] & ~STATE_MASK) | ARRIVING;
  }

  /** The LOAD has ended. */
  complete(model: number): void {
    this.cells[model] = (this.cells[model] & ~STATE_MASK) | PRESENT;
  }

  /** The weights are given up. */
  drop(model: number): void {
    this.cells[model] = (((this.cells[model] >>> STATE_BITS) + 1) << STATE_BITS) | ABSENT;
  }
}
