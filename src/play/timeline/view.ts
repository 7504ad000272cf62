const FIRST_LENGTH_NS = 80e6;
const LEAST_LENGTH_NS = 2e6;
const MOST_LENGTH_NS = 5e9;
/** Where the present moment is, as a share of the width, while the view follows it. */
const PRESENT_AT = 0.75;
/** Without motion, it wanders between these and the view moves in steps. */
const STEP_FROM = 0.2;
const STEP_TO = 0.9;

/** The part of a run that is shown. It follows the present moment until the reader moves it. */
export class View {
  fromNs = -FIRST_LENGTH_NS * PRESENT_AT;
  lengthNs = FIRST_LENGTH_NS;
  follows = true;

  /** `isSmooth`: the view moves with every frame; otherwise in steps. */
  present(nowNs: number, isSmooth: boolean): void {
    if (!this.follows) return;
    const at = (nowNs - this.fromNs) / this.lengthNs;
    if (isSmooth) this.fromNs = nowNs - this.lengthNs * PRESENT_AT;
    else if (at < 0 || at > STEP_TO) this.fromNs = nowNs - this.lengthNs * STEP_FROM;
  }

  pan(byNs: number): void {
    this.follows = false;
    this.fromNs += byNs;
  }

  /** Shows `factor` times as much time; what is shown at the `share` of the width stays there. */
  zoom(factor: number, share: number): void {
    const lengthNs = Math.min(Math.max(this.lengthNs * factor, LEAST_LENGTH_NS), MOST_LENGTH_NS);
    const at = this.follows ? PRESENT_AT : share;
    this.fromNs += (this.lengthNs - lengthNs) * at;
    this.lengthNs = lengthNs;
  }

  /** Follows the present moment again. */
  follow(): void {
    this.follows = true;
  }

  nsAt(share: number): number {
    return this.fromNs + share * this.lengthNs;
  }
}
