import type { BitSet } from './bit-set.js';
import { lowestBit, population } from './bits.js';
import { grown } from './grown.js';

/**
 * A matrix of bits, e.g. the GPUs that hold each model. Membership is one bit test and iteration skips 32 columns at a
 * time, so a thousand idle GPUs cost 32 words.
 */
export class BitMatrix {
  readonly words: number;
  private bits: Int32Array;
  private counts: Int32Array;

  constructor(rows: number, columns: number) {
    this.words = (columns + 31) >>> 5;
    this.bits = new Int32Array(rows * this.words);
    this.counts = new Int32Array(rows);
  }

  /** Appends empty rows, up to this number. */
  grow(rows: number): void {
    this.bits = grown(this.bits, rows * this.words);
    this.counts = grown(this.counts, rows);
  }

  has(row: number, column: number): boolean {
    return (this.bits[row * this.words + (column >>> 5)] & (1 << (column & 31))) !== 0;
  }

  /** Sets a bit; true if it was clear before. */
  add(row: number, column: number): boolean {
    const at = row * this.words + (column >>> 5);
    const bit = 1 << (column & 31);
    if ((this.bits[at] & bit) !== 0) return false;
    this.bits[at] |= bit;
    this.counts[row]++;
    return true;
  }

  /** Clears a bit; true if it was set before. */
  delete(row: number, column: number): boolean {
    const at = row * this.words + (column >>> 5);
    const bit = 1 << (column & 31);
    if ((this.bits[at] & bit) === 0) return false;
    this.bits[at] &= ~bit;
    this.counts[row]--;
    return true;
  }

  /** Columns 32·index … 32·index + 31 of a row as one number, for loops that handle them together. */
  word(row: number, index: number): number {
    return this.bits[row * this.words + index];
  }

  /** Sets columns by word; bits already set are allowed. */
  include(row: number, index: number, bits: number): void {
    const at = row * this.words + index;
    const fresh = bits & ~this.bits[at];
    this.bits[at] |= fresh;
    this.counts[row] += population(fresh);
  }

  /** Clears columns by word. */
  exclude(row: number, index: number, bits: number): void {
    const at = row * this.words + index;
    const gone = bits & this.bits[at];
    this.bits[at] ^= gone;
    this.counts[row] -= population(gone);
  }

  clear(row: number): void {
    this.bits.fill(0, row * this.words, (row + 1) * this.words);
    this.counts[row] = 0;
  }

  /** Number of bits set in a row. */
  count(row: number): number {
    return this.counts[row];
  }

  /** Smallest set column ≥ `from`, or −1. Loop: `for (let g = s.next(r, 0); g >= 0; g = s.next(r, g + 1))`. */
  next(row: number, from: number): number {
    let word = from >>> 5;
    if (word >= this.words) return -1;
    const base = row * this.words;
    let rest = this.bits[base + word] & (-1 << (from & 31));
    while (rest === 0) {
      if (++word === this.words) return -1;
      rest = this.bits[base + word];
    }
    return (word << 5) + lowestBit(rest);
  }

  /** Smallest column ≥ `from` that is set in the row and a member of `set`, which has as many columns, or −1. */
  nextCommon(row: number, set: BitSet, from: number): number {
    let word = from >>> 5;
    if (word >= this.words) return -1;
    const base = row * this.words;
    let rest = this.bits[base + word] & set.word(word) & (-1 << (from & 31));
    while (rest === 0) {
      if (++word === this.words) return -1;
      rest = this.bits[base + word] & set.word(word);
    }
    return (word << 5) + lowestBit(rest);
  }

  /** Like `next`, but starts over at column 0 if nothing follows: round-robin order. */
  nextCyclic(row: number, from: number): number {
    const found = this.next(row, from);
    return found >= 0 ? found : this.next(row, 0);
  }
}
