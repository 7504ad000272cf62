/** Plan of an action as of its decision. */
class Plan {
  id = 0;
  durationNs = 0;
  decidedNs = 0;
  startNs = 0;
  answerNs = 0;
  /** Time at which the lane should have been free; for an idle lane, when its predecessor should have ended. */
  freeNs = 0;
  /** True if other work was ahead on the lane. */
  wasBusy = false;
}

/**
 * The policy's forecast of one lane: the actions sent there without a result, each with its expected time, and so the
 * time at which the lane should be free. Unlike the controller's timeline, it has no built-in margin: its errors are
 * measured and turned into margins.
 */
export class LaneForecast {
  length = 0;
  /** Plan of the action removed last. */
  ended = new Plan();
  /** Measured end of the last action. */
  lastEndNs = 0;
  /** In order of sending; those beyond `length` are reused. A lane seldom has more than two. */
  private readonly plans: Plan[] = [];
  private totalNs = 0;
  /** Expected or past start of the first of them. */
  private beginNs = 0;

  /** Time at which the lane should be free, 0 if idle; `nowNs` − `resultNs` is the latest end that could be known. */
  freeNs(nowNs: number, resultNs: number): number {
    if (this.length === 0) return 0;
    const headNs = this.plans[0].durationNs;
    return Math.max(this.beginNs + headNs, nowNs - resultNs) + this.totalNs - headNs;
  }

  /** Time at which the lane should be free, unless a result changes it. */
  get plannedFreeNs(): number {
    return this.beginNs + this.totalNs;
  }

  /** Expected or past end of the first action. */
  get headEndNs(): number {
    return this.beginNs + this.plans[0].durationNs;
  }

  /** Adds an action that should begin at `startNs` and be answered at `answerNs`. */
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
   * Removes the action with this id, which has a result: the remaining work begins when it ended, or `deliveryNs` after
   * it was decided. False if the id is unknown.
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
