/** Number of set bits (Hacker's Delight, figure 5-2). */
export function population(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  x = (x + (x >>> 4)) & 0x0f0f0f0f;
  return Math.imul(x, 0x01010101) >>> 24;
}

/** Position of the lowest set bit of a word other than 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
