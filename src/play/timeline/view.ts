/** Width of the row names, left of the time axis. */
export const GUTTER_PX = 80;
const FIRST_LENGTH_NS = 80e6;
const LEAST_LENGTH_NS = 2e6;
const MOST_LENGTH_NS = 5e9;
/** Position of the present moment, as a share of the width, while the view follows it. */
const PRESENT_AT = 0.75;
/** With reduced motion, the present moves between these positions and the view in steps. */
const STEP_FROM = 0.2;
const STEP_TO = 0.9;

/** Visible part of a run, and its place on the canvas. Follows the present moment until the reader moves it. */
export class View {
  fromNs: number;
  private follows = true;
  /** Width of the canvas without its gutter. */
  private timePx = 1;

  constructor(public lengthNs = FIRST_LENGTH_NS) {
    this.fromNs = -lengthNs * PRESENT_AT;
  }

  get toNs(): number {
    return this.fromNs + this.lengthNs;
  }

  /** Sets the width of the canvas, including its gutter. */
  resize(widthPx: number): void {
    this.timePx = Math.max(widthPx - GUTTER_PX, 1);
  }

  /** `isSmooth`: the view moves with every frame; otherwise in steps. */
  present(nowNs: number, isSmooth: boolean): void {
    if (!this.follows) return;
    const at = (nowNs - this.fromNs) / this.lengthNs;
    // After a jump, show the time before it.
    if (isSmooth || at < 0 || at > 2) this.fromNs = nowNs - this.lengthNs * PRESENT_AT;
    else if (at > STEP_TO) this.fromNs = nowNs - this.lengthNs * STEP_FROM;
  }

  pan(byNs: number): void {
    this.follows = false;
    this.fromNs += byNs;
  }

  /** Moves a moment to the middle. */
  center(ns: number): void {
    this.pan(ns - this.fromNs - this.lengthNs / 2);
  }

  /** Shows `factor` times as much time; what is shown at `x` stays there. Without `x` the middle stays. */
  zoom(factor: number, x = this.xAt(this.fromNs + this.lengthNs / 2)): void {
    const lengthNs = Math.min(Math.max(this.lengthNs * factor, LEAST_LENGTH_NS), MOST_LENGTH_NS);
    const share = this.follows ? PRESENT_AT : (this.nsAt(x) - this.fromNs) / this.lengthNs;
    this.fromNs += (this.lengthNs - lengthNs) * share;
    this.lengthNs = lengthNs;
  }

  /** Follows the present moment again. */
  follow(): void {
    this.follows = true;
  }

  /** Position of a moment on the canvas, px from its left edge; inside the gutter it is hidden. */
  xAt(ns: number): number {
    return GUTTER_PX + ((ns - this.fromNs) / this.lengthNs) * this.timePx;
  }

  /** Moment at `x` of the canvas. */
  nsAt(x: number): number {
    return this.fromNs + this.nsOf(x - GUTTER_PX);
  }

  /** Duration shown by this many pixels. */
  nsOf(px: number): number {
    return (px / this.timePx) * this.lengthNs;
  }
}
