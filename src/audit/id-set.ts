/** A set of sequence numbers from 0, one bit each. */
export class IdSet {
  private bits = new Uint8Array(1024);
  private largest = -1;
  private size = 0;

  /** Adds an id; false if it is already there. */
  add(id: number): boolean {
    const at = Math.floor(id / 8);
    if (at >= this.bits.length) {
      const longer = new Uint8Array(Math.max(at + 1, this.bits.length * 2));
      longer.set(this.bits);
      this.bits = longer;
    }
    const bit = 1 << (id % 8);
    if ((this.bits[at] & bit) !== 0) return false;
    this.bits[at] |= bit;
    this.largest = Math.max(this.largest, id);
    this.size++;
    return true;
  }

  /** Smallest number missing below the largest one present, or −1. */
  get firstMissing(): number {
    if (this.size === this.largest + 1) return -1;
    const at = this.bits.findIndex((bits) => bits !== 0xff);
    let id = at * 8;
    while ((this.bits[at] & (1 << (id % 8))) !== 0) id++;
    return id;
  }

  /** Count of numbers missing below the largest one present. */
  get missing(): number {
    return this.largest + 1 - this.size;
  }
}
