import { lowestBit, population } from './bits.js';

/** A set of the integers 0 … `size` − 1, e.g. of GPUs. Iteration skips 32 absent members at a time. */
export class BitSet {
  readonly words: number;
  /** Number of members. */
  count = 0;
  private readonly bits: Int32Array;

  constructor(size: number) {
    this.words = (size + 31) >>> 5;
    this.bits = new Int32Array(this.words);
  }

  has(member: number): boolean {
    return (this.bits[member >>> 5] & (1 << (member & 31))) !== 0;
  }

  /** Adds a member; true if it was absent before. */
  add(member: number): boolean {
    const at = member >>> 5;
    const bit = 1 << (member & 31);
    if ((this.bits[at] & bit) !== 0) return false;
    this.bits[at] |= bit;
    this.count++;
    return true;
  }

  /** Removes a member; true if it was present before. */
  delete(member: number): boolean {
    const at = member >>> 5;
    const bit = 1 << (member & 31);
    if ((this.bits[at] & bit) === 0) return false;
    this.bits[at] &= ~bit;
    this.count--;
    return true;
  }

  clear(): void {
    this.bits.fill(0);
    this.count = 0;
  }

  /** Members 32·index … 32·index + 31 as one number, for loops that handle them together. */
  word(index: number): number {
    return this.bits[index];
  }

  /** Adds members by word; those already present are allowed. */
  include(index: number, bits: number): void {
    const added = bits & ~this.bits[index];
    this.bits[index] |= added;
    this.count += population(added);
  }

  /** Smallest member ≥ `from`, or −1. Loop: `for (let g = s.next(0); g >= 0; g = s.next(g + 1))`. */
  next(from: number): number {
    let word = from >>> 5;
    if (word >= this.words) return -1;
    let rest = this.bits[word] & (-1 << (from & 31));
    while (rest === 0) {
      if (++word === this.words) return -1;
      rest = this.bits[word];
    }
    return (word << 5) + lowestBit(rest);
  }

  /** Like `next`, but starts over at 0 if nothing follows: round-robin order. */
  nextCyclic(from: number): number {
    const found = this.next(from);
    return found >= 0 ? found : this.next(0);
  }

  /** Smallest member ≥ `from` shared with `other`, a set of the same size, or −1. */
  nextCommon(other: BitSet, from: number): number {
    let word = from >>> 5;
    if (word >= this.words) return -1;
    let rest = this.bits[word] & other.bits[word] & (-1 << (from & 31));
    while (rest === 0) {
      if (++word === this.words) return -1;
      rest = this.bits[word] & other.bits[word];
    }
    return (word << 5) + lowestBit(rest);
  }
}
