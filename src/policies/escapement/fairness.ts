/** How many of its last outcomes a model's attainment is the mean of, about: at first, and then; and that of all. */
const FIRST_OUTCOMES = 3;
const MODEL_OUTCOMES = 16;
const ALL_OUTCOMES = 1024;
/** Favour for what a model lacks now, and what each answer adds to it while it lacks as much: both of a share of 1. */
const PER_LACK = 4;
const STEP = 0.2;
/** Limit of the favour: e^5 is 148 times as much worth. */
const MOST = 5;

/**
 * Keeps models from starving. Each model has a favour, which is added to the logarithm of what serving it is worth:
 * in part it is proportional to what the model's attainment lacks of a share of that of all, so that rare models need
 * not wait for it; in part it grows with every answer while the model lacks anything and goes back to nothing
 * while it does not. The latter is the multiplier of the constraint "no model below this share", found step by step.
 */
export class Fairness {
  /** By model, 0 or more; and its exponential. */
  readonly favour: Float64Array;
  readonly factor: Float64Array;
  private readonly multiplier: Float64Array;
  private readonly attainment: Float64Array;
  private readonly outcomes: Uint8Array;
  /** Attainment of all requests, by class. */
  private readonly overall: Float64Array;
  /** By model, where there are several classes: what its requests would have reached at the attainment of their classes. */
  private readonly reference: Float64Array;

  constructor(
    models: number,
    /** Every model shall have at least this share of the overall attainment. */
    private readonly leastShare: number,
    classes = 1,
  ) {
    this.overall = new Float64Array(classes).fill(1);
    this.reference = new Float64Array(models).fill(1);
    this.favour = new Float64Array(models);
    this.factor = new Float64Array(models).fill(1);
    this.multiplier = new Float64Array(models);
    this.attainment = new Float64Array(models).fill(1);
    this.outcomes = new Uint8Array(models).fill(FIRST_OUTCOMES);
  }

  /** Another model is in the slot, or none. */
  forget(model: number): void {
    this.favour[model] = 0;
    this.factor[model] = 1;
    this.multiplier[model] = 0;
    this.attainment[model] = 1;
    this.reference[model] = 1;
    this.outcomes[model] = FIRST_OUTCOMES;
  }

  /** One of the model's requests was served in time, or was not. */
  answered(model: number, inTime: boolean, requestClass = 0): void {
    const value = inTime ? 1 : 0;
    const overall = this.overall[requestClass] + (value - this.overall[requestClass]) / ALL_OUTCOMES;
    this.overall[requestClass] = overall;
    const outcomes = Math.min(MODEL_OUTCOMES, this.outcomes[model] + 1);
    this.outcomes[model] = outcomes;
    const own = this.attainment[model] + (value - this.attainment[model]) / outcomes;
    this.attainment[model] = own;
    const lack = this.leastShare - own / this.referenceOf(model, overall, outcomes);
    if (lack <= 0 && this.favour[model] === 0) return;
    const multiplier = Math.min(MOST, Math.max(0, this.multiplier[model] + STEP * lack));
    const favour = Math.min(MOST, multiplier + PER_LACK * Math.max(0, lack));
    this.multiplier[model] = multiplier;
    this.favour[model] = favour;
    this.factor[model] = Math.exp(favour);
  }

  /** A model is compared with what all requests reach; where they weigh differently, with those of the same classes. */
  private referenceOf(model: number, overall: number, outcomes: number): number {
    if (this.overall.length === 1) return overall;
    const reference = this.reference[model] + (overall - this.reference[model]) / outcomes;
    this.reference[model] = reference;
    return reference;
  }
}
