/** Maximum reordering: results reach a log out of lane order by at most this many actions. */
const KEPT = 64;

/** Recent actions of a lane, by start time: detects two that ran at the same time. */
export class Lane {
  private readonly beginsNs: number[] = [];
  private readonly endsNs: number[] = [];
  private readonly lines: number[] = [];
  /** Latest end of the actions no longer kept. */
  private forgottenEndNs = Number.NEGATIVE_INFINITY;
  private forgottenLine = 0;

  /** Adds an action; returns the line of one that it overlaps by more than `slackNs`, or 0. */
  add(beginNs: number, endNs: number, line: number, slackNs: number): number {
    const { beginsNs, endsNs, lines } = this;
    let at = beginsNs.length;
    while (at > 0 && beginsNs[at - 1] > beginNs) at--;
    let overlapped = 0;
    if (at > 0 ? beginNs < endsNs[at - 1] - slackNs : beginNs < this.forgottenEndNs - slackNs) {
      overlapped = at > 0 ? lines[at - 1] : this.forgottenLine;
    } else if (at < beginsNs.length && beginsNs[at] < endNs - slackNs) overlapped = lines[at];
    beginsNs.splice(at, 0, beginNs);
    endsNs.splice(at, 0, endNs);
    lines.splice(at, 0, line);
    if (lines.length > KEPT) this.forget();
    return overlapped;
  }

  private forget(): void {
    this.beginsNs.shift();
    const endNs = this.endsNs.shift() as number;
    const line = this.lines.shift() as number;
    if (endNs <= this.forgottenEndNs) return;
    this.forgottenEndNs = endNs;
    this.forgottenLine = line;
  }
}
