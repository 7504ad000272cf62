/** Weight of a new outcome in a model's attainment, and in that of all. */
const NEW = 1 / 32;
const NEW_OVERALL = 1 / 1024;
/** How fast the favour of a model follows what it lacks, and its limit: e^5 is 148 times as much worth. */
const STEP = 0.1;
const MOST = 5;

/**
 * Keeps models from starving. Each model has a favour, which is added to the logarithm of what serving it is worth:
 * it grows with every answer while the model's attainment lies below a share of that of all, and goes back to nothing
 * while it lies above. That is the multiplier of the constraint "no model below this share", found step by step.
 */
export class Fairness {
  /** By model, 0 or more; and its exponential. */
  readonly favour: Float64Array;
  readonly factor: Float64Array;
  private readonly attainment: Float64Array;
  private overall = 1;

  constructor(
    models: number,
    /** Every model shall have at least this share of the overall attainment. */
    private readonly leastShare: number,
  ) {
    this.favour = new Float64Array(models);
    this.factor = new Float64Array(models).fill(1);
    this.attainment = new Float64Array(models).fill(1);
  }

  /** One of the model's requests was served in time, or was not. */
  answered(model: number, inTime: boolean): void {
    const value = inTime ? 1 : 0;
    this.overall += NEW_OVERALL * (value - this.overall);
    const own = this.attainment[model] + NEW * (value - this.attainment[model]);
    this.attainment[model] = own;
    const before = this.favour[model];
    const lack = this.leastShare * this.overall - own;
    if (before === 0 && lack <= 0) return;
    const favour = Math.min(MOST, Math.max(0, before + STEP * lack));
    this.favour[model] = favour;
    this.factor[model] = Math.exp(favour);
  }
}
