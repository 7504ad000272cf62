const TWO_32 = 4_294_967_296;

/**
 * Running hash of every decision of a run: two runs with equal digests made equal decisions. Two 32-bit halves, each
 * mixed as in MurmurHash3's body; fast, not collision-resistant against an attacker.
 */
export class Digest {
  private low = 0x9e3779b9 | 0;
  private high = 0x243f6a88 | 0;

  /** Mixes in an integer of up to 53 bits. */
  add(value: number): void {
    // `| 0` keeps the low 32 bits of any integer; Infinity becomes 0 in both halves.
    this.low = mix(this.low, value | 0);
    this.high = mix(this.high ^ this.low, (value / TWO_32) | 0);
  }

  /** 16 hex digits. */
  toString(): string {
    return hex(finish(this.high ^ this.low)) + hex(finish(this.low));
  }
}

function mix(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51);
  k = (k << 15) | (k >>> 17);
  let h = hash ^ Math.imul(k, 0x1b873593);
  h = (h << 13) | (h >>> 19);
  return (Math.imul(h, 5) + 0xe6546b64) | 0;
}

function finish(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0');
}
