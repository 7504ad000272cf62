import { MODEL_COLORS } from '../../report/colors.js';
import type { Box, Mark } from './scene.js';
import { GUTTER_PX, type View } from './view.js';

interface Scale {
  readonly view: View;
  readonly nowNs: number;
  readonly rows: number;
  readonly rowPx: number;
}

/** Minimum distance of ticks, whose step is the first of 1, 2, 5, 10 ms and so on that keeps it. */
const LEAST_TICK_PX = 70;
const NS_PER_MS = 1e6;
const LEAST_TEXT_PX = 12;

/** Request whose story is shown: its INFERs, and when it arrived and was due. */
interface Explained {
  readonly boxes: readonly Box[];
  readonly arrivalNs: number;
  readonly deadlineNs: number;
}

function modelColor(model: number): string {
  return MODEL_COLORS[model % MODEL_COLORS.length]!;
}

/** Draws a whole timeline, in the colors of the page. */
export function paint(
  canvas: HTMLCanvasElement,
  scale: Scale,
  boxes: readonly Box[],
  marks: readonly Mark[],
  selected: Mark | null,
  explained: Explained | null,
): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  const style = getComputedStyle(canvas);
  const ink = (name: string) => style.getPropertyValue(name);
  const context = canvas.getContext('2d')!;
  context.scale(devicePixelRatio, devicePixelRatio);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  paintNames(context, scale, ink);
  // Boxes that began before the view end at the gutter.
  context.beginPath();
  context.rect(GUTTER_PX, 0, width - GUTTER_PX, height);
  context.clip();
  const x = (ns: number) => scale.view.xAt(ns);
  paintGrid(context, scale, x, width, ink);
  context.strokeStyle = ink('--alert');
  context.lineWidth = 2;
  for (const box of boxes) paintBox(context, box, scale.rowPx, x, ink);
  const marksY = (scale.rows - 0.5) * scale.rowPx;
  for (const mark of marks) paintMark(context, mark.outcome, x(mark.atNs), marksY);
  if (explained !== null) paintExplained(context, explained, scale, x, ink);
  if (selected !== null) context.strokeRect(x(selected.atNs) - 8, marksY - 8, 16, 16);
  context.fillStyle = ink('--strong');
  context.fillRect(x(scale.nowNs), 0, 1.5, scale.rows * scale.rowPx);
}

type Ink = (name: string) => string;

function paintGrid(
  context: CanvasRenderingContext2D,
  { view, rows, rowPx }: Scale,
  x: (ns: number) => number,
  width: number,
  ink: Ink,
): void {
  context.fillStyle = ink('--line');
  for (let row = 1; row <= rows; row++) context.fillRect(0, row * rowPx - 1, width, 1);
  context.textAlign = 'center';
  const tickNs = tickOf(view.nsOf(LEAST_TICK_PX));
  for (let ns = Math.ceil(Math.max(view.fromNs, 0) / tickNs) * tickNs; ns < view.toNs; ns += tickNs) {
    context.fillStyle = ink('--line');
    context.fillRect(x(ns), 0, 1, rows * rowPx);
    const label = `${ns / NS_PER_MS}\u202fms`;
    const halfPx = context.measureText(label).width / 2;
    // A truncated label would show another time.
    if (x(ns) - halfPx < GUTTER_PX || x(ns) + halfPx > width) continue;
    context.fillStyle = ink('--muted');
    context.fillText(label, x(ns), rows * rowPx + 11);
  }
  context.textAlign = 'left';
}

/** Paints names into the gutter, with a line to the next row. */
function paintNames(context: CanvasRenderingContext2D, { rows, rowPx }: Scale, ink: Ink): void {
  for (let row = 0; row < rows; row++) {
    const name = row === rows - 1 ? 'not in time' : `GPU ${row >> 1} ${row % 2 === 0 ? 'INFER' : 'LOAD'}`;
    context.fillStyle = ink('--muted');
    context.fillText(name, 0, (row + 0.5) * rowPx, GUTTER_PX - 6);
    context.fillStyle = ink('--line');
    context.fillRect(0, (row + 1) * rowPx - 1, GUTTER_PX, 1);
  }
}

function paintBox(
  context: CanvasRenderingContext2D,
  box: Box,
  rowPx: number,
  x: (ns: number) => number,
  ink: Ink,
): void {
  const top = box.row * rowPx + 4;
  const left = x(box.fromNs);
  // Keeps neighbors of one model apart.
  const width = Math.max(x(box.toNs) - left - 1, 1);
  context.globalAlpha = box.hasBegun ? 1 : 0.45;
  const color = modelColor(box.model);
  context.fillStyle = color;
  if (box.failure === '') context.fillRect(left, top, width, rowPx - 9);
  else paintMark(context, 'error', left, top + (rowPx - 9) / 2);
  context.globalAlpha = 1;
  // The window in which it may start.
  context.fillStyle = ink('--muted');
  const latest = Number.isFinite(box.latestNs) ? box.latestNs : box.earliestNs;
  context.fillRect(x(box.earliestNs), top + rowPx - 8, Math.max(x(latest) - x(box.earliestNs), 1), 1.5);
  if (Number.isFinite(box.deadlineNs)) {
    context.fillStyle = ink('--alert');
    context.fillRect(x(box.deadlineNs), top - 3, 1.5, rowPx - 4);
  }
  if (width < LEAST_TEXT_PX || box.failure !== '' || !box.isInfer) return;
  // Planned actions are pale, close to the background.
  context.fillStyle = box.hasBegun ? '#000000' : ink('--ink');
  context.fillText(String(box.count), left + 3, top + (rowPx - 9) / 2);
}

/** Joins the INFERs of a request, each to those that begin after it has ended, between its arrival and deadline. */
function paintExplained(
  context: CanvasRenderingContext2D,
  { boxes, arrivalNs, deadlineNs }: Explained,
  { rows, rowPx }: Scale,
  x: (ns: number) => number,
  ink: Ink,
): void {
  context.strokeStyle = ink('--strong');
  context.fillStyle = ink('--strong');
  const y = ({ row }: Box) => row * rowPx + (rowPx - 1) / 2;
  context.lineWidth = 1.5;
  for (const box of boxes) {
    context.strokeRect(
      x(box.fromNs),
      box.row * rowPx + 3,
      Math.max(x(box.toNs) - x(box.fromNs), 2),
      rowPx - 7,
    );
    const beginNs = Math.min(...boxes.flatMap(({ fromNs }) => (fromNs >= box.toNs ? fromNs : [])));
    for (const next of boxes) {
      if (next.fromNs !== beginNs) continue;
      context.beginPath();
      context.moveTo(x(box.toNs), y(box));
      context.lineTo(x(next.fromNs), y(next));
      context.stroke();
    }
  }
  context.setLineDash([4, 3]);
  for (const ns of [arrivalNs, deadlineNs]) {
    context.beginPath();
    context.moveTo(x(ns), 0);
    context.lineTo(x(ns), rows * rowPx);
    context.stroke();
  }
  context.setLineDash([]);
  context.fillText('due', x(deadlineNs) + 3, (rows - 0.5) * rowPx);
}

/** A late answer is a circle, a refusal a bar, a timeout or failure a cross. */
function paintMark(context: CanvasRenderingContext2D, outcome: string, x: number, y: number): void {
  context.beginPath();
  if (outcome === 'late') context.arc(x, y, 4, 0, 2 * Math.PI);
  else if (outcome === 'rejected') {
    context.moveTo(x - 4, y);
    context.lineTo(x + 4, y);
  } else {
    context.moveTo(x - 4, y - 4);
    context.lineTo(x + 4, y + 4);
    context.moveTo(x + 4, y - 4);
    context.lineTo(x - 4, y + 4);
  }
  context.stroke();
}

function tickOf(leastNs: number): number {
  const power = 10 ** Math.floor(Math.log10(leastNs));
  return ([1, 2, 5].find((step) => step * power >= leastNs) ?? 10) * power;
}

/**
 * Calls `redraw` whenever colors may have changed: when the system, or a class of the page's root, switches between
 * light and dark. Returns a function that stops it.
 */
export function onColors(redraw: () => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const root = new MutationObserver(redraw);
  dark.addEventListener('change', redraw);
  root.observe(document.documentElement, { attributeFilter: ['class'] });
  return () => {
    dark.removeEventListener('change', redraw);
    root.disconnect();
  };
}
