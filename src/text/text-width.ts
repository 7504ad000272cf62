/** Advance widths of Inter as shares of the font size, by group; characters in no group count as 0.585. */
const GROUPS: readonly (readonly [string, number])[] = [
  ["ijlI|!'.,:;· ", 0.27],
  ['ftr()[]/1', 0.37],
  ['-_', 0.46],
  ['skvxyz', 0.55],
  ['023456789bdgopq#', 0.615],
  ['ABEFJKLPRSTVXYZ&×±+=<>≤≥~', 0.65],
  ['CDGHNOQU', 0.745],
  ['mwMW%@—…', 0.89],
];
const WIDTHS = new Map(
  GROUPS.flatMap(([letters, width]) => [...letters].map((letter) => [letter, width] as const)),
);

/**
 * Width of a text in Inter, px, accurate to a few percent. Vega's own estimate without a canvas is a third too wide,
 * which pushes titles away from axes and drops labels that would fit.
 */
export function textWidth(text: string, fontSize: number, semiBold = false): number {
  let width = 0;
  for (const letter of text) width += WIDTHS.get(letter) ?? 0.585;
  return width * fontSize * (semiBold ? 1.025 : 1);
}
