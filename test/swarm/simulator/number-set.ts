/** Whole numbers from 0, a bit for each. */
export class NumberSet {
  private bits = new Uint32Array(1024);
  private count = 0;
  private end = 0;

  /** False: it was there. */
  add(number: number): boolean {
    const word = number >>> 5;
    if (word >= this.bits.length) this.grow(word);
    const bit = 1 << (number & 31);
    if ((this.bits[word] & bit) !== 0) return false;
    this.bits[word] |= bit;
    this.count++;
    if (number >= this.end) this.end = number + 1;
    return true;
  }

  /** All numbers up to the largest are there. */
  get isWhole(): boolean {
    return this.count === this.end;
  }

  private grow(word: number): void {
    const larger = new Uint32Array(Math.max(2 * this.bits.length, word + 1));
    larger.set(this.bits);
    this.bits = larger;
  }
}
