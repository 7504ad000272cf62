/** Weight of a new outcome in a model's attainment, and in that of all. */
const NEW = 1 / 64;
const NEW_OVERALL = 1 / 1024;
/** A model with less than this share of the overall attainment is favoured, by this much. */
const BADLY_OFF = 0.7;
const FAVOUR = 0;

/**
 * Keeps models from starving: one whose share of requests served in time has long been far below that of all counts
 * for more until it has caught up.
 */
export class Fairness {
  /** By model: what is added to the logarithm of its worth. */
  readonly favour: Float64Array;
  private readonly attainment: Float64Array;
  private overall = 1;

  constructor(models: number) {
    this.favour = new Float64Array(models);
    this.attainment = new Float64Array(models).fill(1);
  }

  /** One of the model's requests was served in time, or was not. */
  answered(model: number, inTime: boolean): void {
    const value = inTime ? 1 : 0;
    this.overall += NEW_OVERALL * (value - this.overall);
    const own = this.attainment[model] + NEW * (value - this.attainment[model]);
    this.attainment[model] = own;
    this.favour[model] = own < BADLY_OFF * this.overall ? FAVOUR : 0;
  }
}
