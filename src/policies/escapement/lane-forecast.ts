const INITIAL_CAPACITY = 8;

/**
 * What the policy expects of one lane: the work that it sent there and that has no result yet, each with the time
 * it should take, and so the time at which the lane should be free. Unlike the controller's timeline it has no
 * built-in caution: what forecasts miss by is measured, and margins are made of that.
 */
export class LaneForecast {
  /** Of the work taken out last: when it was decided, when the lane should have been free for it, its answer be there. */
  decidedNs = 0;
  predictedFreeNs = 0;
  predictedAnswerNs = 0;
  /** Whether other work was before it on the lane when it was decided. */
  wasBusy = false;
  /** End of what ran last, as measured and as it was foreseen when that was decided. */
  lastEndNs = 0;
  foreseenEndNs = 0;

  private ids = new Float64Array(INITIAL_CAPACITY);
  private durations = new Float64Array(INITIAL_CAPACITY);
  private decided = new Float64Array(INITIAL_CAPACITY);
  private starts = new Float64Array(INITIAL_CAPACITY);
  private free = new Float64Array(INITIAL_CAPACITY);
  private answers = new Float64Array(INITIAL_CAPACITY);
  private busy = new Uint8Array(INITIAL_CAPACITY);
  private head = 0;
  length = 0;
  private totalNs = 0;
  /** When the first of them should begin, or should have. */
  private beginNs = 0;

  /** When the lane should be free, 0 if it is idle; `nowNs` − `resultNs` is the latest end that could be known of. */
  freeNs(nowNs: number, resultNs: number): number {
    if (this.length === 0) return 0;
    const headNs = this.durations[this.head];
    return Math.max(this.beginNs + headNs, nowNs - resultNs) + this.totalNs - headNs;
  }

  /** The lane should be free at this time, if no result says otherwise before. */
  get plannedFreeNs(): number {
    return this.beginNs + this.totalNs;
  }

  /** When the first of it should end, or should have. */
  get headEndNs(): number {
    return this.beginNs + this.durations[this.head];
  }

  /** Work was sent that should begin at `startNs` and be answered at `answerNs`. */
  add(id: number, durationNs: number, decidedNs: number, startNs: number, answerNs: number): void {
    if (this.length === this.ids.length) this.grow();
    const at = (this.head + this.length) & (this.ids.length - 1);
    this.ids[at] = id;
    this.durations[at] = durationNs;
    this.decided[at] = decidedNs;
    this.starts[at] = startNs;
    this.free[at] = this.length > 0 ? this.plannedFreeNs : this.foreseenEndNs;
    this.answers[at] = answerNs;
    this.busy[at] = this.length > 0 ? 1 : 0;
    if (this.length === 0) this.beginNs = startNs;
    this.length++;
    this.totalNs += durationNs;
  }

  /**
   * Takes out the work with this id, which has a result: what is left begins when it ended, or got there `deliveryNs`
   * after it was decided. False: it is not here.
   */
  finish(id: number, endNs: number, deliveryNs: number): boolean {
    const mask = this.ids.length - 1;
    for (let i = 0; i < this.length; i++) {
      const at = (this.head + i) & mask;
      if (this.ids[at] !== id) continue;
      this.decidedNs = this.decided[at];
      this.predictedFreeNs = this.free[at];
      this.predictedAnswerNs = this.answers[at];
      this.wasBusy = this.busy[at] === 1;
      this.totalNs -= this.durations[at];
      this.foreseenEndNs = this.starts[at] + this.durations[at];
      this.remove(i);
      this.lastEndNs = Math.max(this.lastEndNs, endNs);
      this.beginNs = Math.max(this.lastEndNs, this.decided[this.head] + deliveryNs);
      if (this.length === 0) this.totalNs = 0;
      return true;
    }
    return false;
  }

  private remove(index: number): void {
    const mask = this.ids.length - 1;
    for (let i = index; i > 0; i--) {
      const to = (this.head + i) & mask;
      const from = (this.head + i - 1) & mask;
      this.ids[to] = this.ids[from];
      this.durations[to] = this.durations[from];
      this.decided[to] = this.decided[from];
      this.starts[to] = this.starts[from];
      this.free[to] = this.free[from];
      this.answers[to] = this.answers[from];
      this.busy[to] = this.busy[from];
    }
    this.head = (this.head + 1) & mask;
    this.length--;
  }

  private grow(): void {
    const capacity = this.ids.length;
    const order = Int32Array.from({ length: capacity }, (_, i) => (this.head + i) & (capacity - 1));
    const moved = (from: Float64Array) => {
      const to = new Float64Array(capacity * 2);
      order.forEach((at, i) => {
        to[i] = from[at];
      });
      return to;
    };
    this.ids = moved(this.ids);
    this.durations = moved(this.durations);
    this.decided = moved(this.decided);
    this.starts = moved(this.starts);
    this.free = moved(this.free);
    this.answers = moved(this.answers);
    const busy = new Uint8Array(capacity * 2);
    order.forEach((at, i) => {
      busy[i] = this.busy[at];
    });
    this.busy = busy;
    this.head = 0;
  }
}
