/** Sliding-window maximum. */
export class Highest {
  /** Descending values; each is the maximum from its time on. */
  private readonly values: number[] = [];
  private readonly atNs: number[] = [];

  constructor(private readonly windowNs: number) {}

  /** Adds a value, and returns the maximum within the window. */
  add(value: number, nowNs: number): number {
    const { values, atNs } = this;
    while (values.length > 0 && (values.at(-1) as number) <= value) {
      values.pop();
      atNs.pop();
    }
    values.push(value);
    atNs.push(nowNs);
    while (atNs[0] < nowNs - this.windowNs) {
      values.shift();
      atNs.shift();
    }
    return values[0];
  }
}
