import { textWidth } from '../../text/text-width.js';
import { MUTED } from './theme.js';

const FONT_SIZE = 11;
/** Half the side of a point's mark, and the gap between it and its name, px. */
const MARK = 6;
const GAP = 3;

/** A point with a name, px from the plot's upper left corner. `row`: its data. */
interface NamedPoint {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly row: object;
}

interface Plot {
  readonly width: number;
  readonly height: number;
  /** Height of a horizontal rule that names avoid, px from the top. */
  readonly ruleY: number;
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Places of a name next to its point, best first. */
const PLACES = [
  { align: 'left', dx: MARK + GAP, dy: 0 },
  { align: 'left', dx: MARK + GAP, dy: -MARK - 2 },
  { align: 'left', dx: MARK + GAP, dy: MARK + 2 },
  { align: 'right', dx: -MARK - GAP, dy: 0 },
  { align: 'center', dx: 0, dy: -MARK - FONT_SIZE },
  { align: 'center', dx: 0, dy: MARK + FONT_SIZE },
  { align: 'right', dx: -MARK - GAP, dy: -MARK - 2 },
  { align: 'right', dx: -MARK - GAP, dy: MARK + 2 },
] as const;

/**
 * Layers with the names of points: each at the first place where it covers nothing and stays inside the plot; else
 * where it covers the fewest items.
 */
export function pointNames(points: readonly NamedPoint[], plot: Plot, position: object): object[] {
  const rule = { left: 0, right: plot.width, top: plot.ruleY - 1, bottom: plot.ruleY + 1 };
  const taken: Box[] = [rule, ...points.map(markBox)];
  const placed = points.map((point) => {
    const boxes = PLACES.map((place) => nameBox(point, place));
    const covered = boxes.map((box) => (isInside(box, plot) ? countTouched(box, taken) : taken.length));
    const best = covered.indexOf(Math.min(...covered));
    taken.push(boxes[best]);
    return best;
  });
  return PLACES.flatMap(({ align, dx, dy }, place) => {
    const values = points.filter((_, i) => placed[i] === place).map(({ row }) => row);
    if (values.length === 0) return [];
    return {
      data: { values },
      mark: { type: 'text', align, baseline: 'middle', dx, dy, fontSize: FONT_SIZE, color: MUTED },
      encoding: { ...position, text: { field: 'name', type: 'nominal' } },
    };
  });
}

function markBox({ x, y }: NamedPoint): Box {
  return { left: x - MARK, right: x + MARK, top: y - MARK, bottom: y + MARK };
}

function nameBox({ name, x, y }: NamedPoint, { align, dx, dy }: (typeof PLACES)[number]): Box {
  const width = textWidth(name, FONT_SIZE);
  const left = x + dx - width * { left: 0, center: 0.5, right: 1 }[align];
  return { left, right: left + width, top: y + dy - FONT_SIZE / 2, bottom: y + dy + FONT_SIZE / 2 };
}

function isInside({ left, right, top, bottom }: Box, { width, height }: Plot): boolean {
  return left >= 0 && right <= width && top >= 0 && bottom <= height;
}

function countTouched(box: Box, taken: readonly Box[]): number {
  return taken.filter(
    ({ left, right, top, bottom }) =>
      box.left < right && box.right > left && box.top < bottom && box.bottom > top,
  ).length;
}
