import { textWidth } from '../../text/text-width.js';
import { MUTED } from './theme.js';

const FONT_SIZE = 12;
/** Gap between the label and the rule, and the end of the plot, px. */
const GAP = 5;
const LINE_HEIGHT = 15;
/** Lines are sampled in steps of at most this many px. */
const STEP = 3;

/** A point of the plot, px from its upper left corner. */
interface PlotPoint {
  readonly x: number;
  readonly y: number;
}

interface RuleLabel {
  readonly text: string;
  /** Height of the horizontal rule, px from the top. */
  readonly ruleY: number;
  /** Width of the plot, px. */
  readonly width: number;
  /** Lines that the label should avoid. */
  readonly lines: readonly (readonly PlotPoint[])[];
}

/**
 * Layers for the label of a horizontal rule: at its right end and above it, if no line runs there; else at the first
 * other free corner. A white edge keeps it readable if none is free.
 */
export function ruleLabel({ text, ruleY, width, lines }: RuleLabel): object[] {
  const labelWidth = textWidth(text, FONT_SIZE);
  const corners = [
    { right: true, above: true },
    { right: false, above: true },
    { right: true, above: false },
    { right: false, above: false },
  ] as const;
  const { right, above } =
    corners.find((corner) => {
      const left = corner.right ? width - GAP - labelWidth : GAP;
      const top = corner.above ? ruleY - GAP - LINE_HEIGHT : ruleY + GAP;
      const crosses = ({ x, y }: PlotPoint) =>
        x >= left - GAP && x <= left + labelWidth + GAP && y >= top && y <= top + LINE_HEIGHT;
      return top >= 0 && !lines.some((line) => dense(line).some(crosses));
    }) ?? corners[0];
  const mark = {
    type: 'text',
    text,
    fontSize: FONT_SIZE,
    align: right ? 'right' : 'left',
    baseline: above ? 'bottom' : 'top',
    x: right ? width - GAP : GAP,
    y: above ? ruleY - GAP : ruleY + GAP,
  };
  return [
    { ...mark, color: '#ffffff', stroke: '#ffffff', strokeWidth: 4 },
    { ...mark, color: MUTED },
  ].map((styled) => ({ data: { values: [{}] }, mark: styled }));
}

/** The line with points added between its own, so that nothing slips through a label. */
function dense(line: readonly PlotPoint[]): PlotPoint[] {
  return line.flatMap((from, i) => {
    const to = line[i + 1] ?? from;
    const steps = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / STEP));
    return Array.from({ length: steps }, (_, step) => ({
      x: from.x + ((to.x - from.x) * step) / steps,
      y: from.y + ((to.y - from.y) * step) / steps,
    }));
  });
}
