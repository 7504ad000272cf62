/** Advance widths of Inter in shares of the font size, by group; what is in none counts as 0.57. */
const GROUPS: readonly (readonly [string, number])[] = [
  ["ijl|!'.,:;· ", 0.27],
  ['ft()[]rI-/', 0.38],
  ['sczvxkyJ', 0.54],
  ['0123456789×±+=<>≤≥~#', 0.63],
  ['ABCDEFGHKLNOPQRSTUVXYZ&', 0.69],
  ['mwMW%@—…', 0.87],
];
const WIDTHS = new Map(
  GROUPS.flatMap(([letters, width]) => [...letters].map((letter) => [letter, width] as const)),
);

/**
 * Width of a text in Inter, px, to a few percent. Vega's own guess without a canvas is a third too
 * wide, which pushes titles away from axes and drops labels that would fit.
 */
export function textWidth(text: string, fontSize: number, semiBold = false): number {
  let width = 0;
  for (const letter of text) width += WIDTHS.get(letter) ?? 0.57;
  return width * fontSize * (semiBold ? 1.06 : 1);
}
