/** Width of a character of a label, px. */
const CHARACTER = 6.4;

/** Orientation of the names along an axis: level if each fits into its place, else slanted. */
export function nameLabels(labels: readonly string[], width: number) {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  return longest * CHARACTER <= width / Math.max(1, labels.length)
    ? { labelAngle: 0 }
    : { labelAngle: -35, labelAlign: 'right', labelBaseline: 'top' };
}
