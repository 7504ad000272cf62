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
