/** So many of the last lines are kept. */
const MOST_LINES = 4096;

/** The last things that happened, for the story of a failure. Text is made only when somebody wants it. */
export class Trace {
  private readonly lines: (readonly [number, string, string, unknown])[] = [];
  private next = 0;

  /** `detail` is written as JSON, later: it must not change. */
  add(nowNs: number, who: string, what: string, detail?: unknown): void {
    this.lines[this.next++ % MOST_LINES] = [nowNs, who, what, detail];
  }

  /** One line each, oldest first. */
  text(most = MOST_LINES): string {
    const { lines, next } = this;
    const count = Math.min(most, next, MOST_LINES);
    return Array.from({ length: count }, (_, i) => lines[(next - count + i) % MOST_LINES])
      .map(([nowNs, who, what, detail]) => `${(nowNs / 1e9).toFixed(6)} s  ${who}: ${what}${textOf(detail)}`)
      .join('\n');
  }
}

function textOf(detail: unknown): string {
  if (detail === undefined) return '';
  return ` ${typeof detail === 'string' ? detail : JSON.stringify(detail)}`;
}

/** A number of all that happened, in order: two runs with the same one were the same. */
export class EventDigest {
  private high = 0x811c9dc5 | 0;
  private low = 0x01000193 | 0;

  add(number: number): void {
    const upper = Math.floor(number / 2 ** 32) | 0;
    this.high = Math.imul(this.high ^ (number | 0), 0x01000193);
    this.low = Math.imul(this.low ^ upper ^ (this.high >>> 15), 0x85ebca6b);
  }

  get text(): string {
    return [this.high, this.low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }
}
