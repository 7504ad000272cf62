/** Work as it was planned when it was decided. */
class Plan {
  id = 0;
  durationNs = 0;
  decidedNs = 0;
  startNs = 0;
  answerNs = 0;
  /** When the lane should have been free; for work that came to an idle lane, when the one before should have ended. */
  freeNs = 0;
  /** Whether other work was before it on the lane. */
  wasBusy = false;
}

/**
 * What the policy expects of one lane: the work that it sent there and that has no result yet, each with the time
 * it should take, and so the time at which the lane should be free. Unlike the controller's timeline it has no
 * built-in caution: what forecasts miss by is measured, and margins are made of that.
 */
export class LaneForecast {
  length = 0;
  /** The plan of the work that was taken out last. */
  ended = new Plan();
  /** End of what ran last, as measured. */
  lastEndNs = 0;
  /** In the order in which they were sent; those behind `length` are used again. A lane seldom has more than two. */
  private readonly plans: Plan[] = [];
  private totalNs = 0;
  /** When the first of them should begin, or should have. */
  private beginNs = 0;

  /** When the lane should be free, 0 if it is idle; `nowNs` − `resultNs` is the latest end that could be known of. */
  freeNs(nowNs: number, resultNs: number): number {
    if (this.length === 0) return 0;
    const headNs = this.plans[0].durationNs;
    return Math.max(this.beginNs + headNs, nowNs - resultNs) + this.totalNs - headNs;
  }

  /** The lane should be free at this time, if no result says otherwise before. */
  get plannedFreeNs(): number {
    return this.beginNs + this.totalNs;
  }

  /** When the first of it should end, or should have. */
  get headEndNs(): number {
    return this.beginNs + this.plans[0].durationNs;
  }

  /** Work was sent that should begin at `startNs` and be answered at `answerNs`. */
  add(id: number, durationNs: number, decidedNs: number, startNs: number, answerNs: number): void {
    const { plans, length, ended } = this;
    if (length === plans.length) plans.push(new Plan());
    const plan = plans[length];
    plan.id = id;
    plan.durationNs = durationNs;
    plan.decidedNs = decidedNs;
    plan.startNs = startNs;
    plan.answerNs = answerNs;
    plan.freeNs = length > 0 ? this.plannedFreeNs : ended.startNs + ended.durationNs;
    plan.wasBusy = length > 0;
    if (length === 0) this.beginNs = startNs;
    this.length++;
    this.totalNs += durationNs;
  }

  /**
   * Takes out the work with this id, which has a result: what is left begins when it ended, or got there `deliveryNs`
   * after it was decided. False: it is not here.
   */
  finish(id: number, endNs: number, deliveryNs: number): boolean {
    const { plans } = this;
    for (let i = 0; i < this.length; i++) {
      const plan = plans[i];
      if (plan.id !== id) continue;
      this.length--;
      for (let after = i; after < this.length; after++) plans[after] = plans[after + 1];
      plans[this.length] = this.ended;
      this.ended = plan;
      this.lastEndNs = Math.max(this.lastEndNs, endNs);
      this.totalNs = this.length === 0 ? 0 : this.totalNs - plan.durationNs;
      if (this.length > 0) this.beginNs = Math.max(this.lastEndNs, plans[0].decidedNs + deliveryNs);
      return true;
    }
    return false;
  }
}
