/** Approximate number of outcomes averaged in a model's attainment, at first and later; and in that of all. */
const FIRST_OUTCOMES = 3;
const MODEL_OUTCOMES = 16;
const ALL_OUTCOMES = 1024;
/** Favor for a model's current shortfall, and increment per answer while it has one, both for a shortfall of 1. */
const PER_LACK = 4;
const STEP = 0.2;
/** Upper bound of the favor: e^5 is a factor of 148 in value. */
const MOST = 5;

/**
 * Keeps models from starving. Each model has a favor, which is added to the logarithm of the value of serving it. One
 * part is proportional to the shortfall of the model's attainment from a share of the overall one, so that rare models
 * need not wait. The other grows with every answer while there is a shortfall, and decays to zero otherwise: it is the
 * multiplier of the constraint "no model below this share", found step by step.
 */
export class Fairness {
  /** By model: favor, at least 0; and its exponential. */
  readonly favor: Float64Array;
  readonly factor: Float64Array;
  private readonly multiplier: Float64Array;
  private readonly attainment: Float64Array;
  private readonly outcomes: Uint8Array;
  /** Attainment of all requests, by class. */
  private readonly overall: Float64Array;
  /**
   * By model, if there are several classes: attainment that its requests would have at the average of their classes.
   */
  private readonly reference: Float64Array;

  constructor(
    models: number,
    /** Share of the overall attainment below which no model should fall. */
    private readonly leastShare: number,
    classes = 1,
  ) {
    this.overall = new Float64Array(classes).fill(1);
    this.reference = new Float64Array(models).fill(1);
    this.favor = new Float64Array(models);
    this.factor = new Float64Array(models).fill(1);
    this.multiplier = new Float64Array(models);
    this.attainment = new Float64Array(models).fill(1);
    this.outcomes = new Uint8Array(models).fill(FIRST_OUTCOMES);
  }

  /** Resets the state of a slot whose model changed. */
  forget(model: number): void {
    this.favor[model] = 0;
    this.factor[model] = 1;
    this.multiplier[model] = 0;
    this.attainment[model] = 1;
    this.reference[model] = 1;
    this.outcomes[model] = FIRST_OUTCOMES;
  }

  /** Records that one of the model's requests was served in time, or was not. */
  answered(model: number, inTime: boolean, requestClass = 0): void {
    if (this.leastShare === 0) return;
    const value = inTime ? 1 : 0;
    const overall = this.overall[requestClass] + (value - this.overall[requestClass]) / ALL_OUTCOMES;
    this.overall[requestClass] = overall;
    const outcomes = Math.min(MODEL_OUTCOMES, this.outcomes[model] + 1);
    this.outcomes[model] = outcomes;
    const own = this.attainment[model] + (value - this.attainment[model]) / outcomes;
    this.attainment[model] = own;
    const lack = this.leastShare - own / this.referenceOf(model, overall, outcomes);
    if (lack <= 0 && this.favor[model] === 0) return;
    const multiplier = Math.min(MOST, Math.max(0, this.multiplier[model] + STEP * lack));
    const favor = Math.min(MOST, multiplier + PER_LACK * Math.max(0, lack));
    this.multiplier[model] = multiplier;
    this.favor[model] = favor;
    this.factor[model] = Math.exp(favor);
  }

  /** Attainment that a model is compared with: that of all requests or, with weights, that of the same classes. */
  private referenceOf(model: number, overall: number, outcomes: number): number {
    if (this.overall.length === 1) return overall;
    const reference = this.reference[model] + (overall - this.reference[model]) / outcomes;
    this.reference[model] = reference;
    return reference;
  }
}
