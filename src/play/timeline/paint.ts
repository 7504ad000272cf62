import type { Box, Mark } from './scene.js';

interface Scale {
  readonly fromNs: number;
  readonly toNs: number;
  readonly nowNs: number;
  readonly rows: number;
  readonly rowPx: number;
}

/** Can be told apart by color-blind readers (Okabe and Ito, 2008), without black. */
const COLORS = ['#56b4e9', '#e69f00', '#009e73', '#f0e442', '#cc79a7', '#d55e00', '#0072b2'];
/** Time between two ticks: the first of 1, 2, 5, 10 and so on ms that leaves them so far apart. */
const LEAST_TICK_PX = 70;
const NS_PER_MS = 1e6;
const LEAST_TEXT_PX = 12;

function modelColor(model: number): string {
  return COLORS[model % COLORS.length]!;
}

/** Draws all of a timeline, in the colors of the page. */
export function paint(
  canvas: HTMLCanvasElement,
  scale: Scale,
  boxes: readonly Box[],
  marks: readonly Mark[],
  selected: Mark | null,
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
  const x = (ns: number) => ((ns - scale.fromNs) / (scale.toNs - scale.fromNs)) * width;
  paintGrid(context, scale, x, width, ink);
  context.strokeStyle = ink('--alert');
  context.lineWidth = 2;
  for (const box of boxes) paintBox(context, box, scale.rowPx, x, ink);
  const marksY = (scale.rows - 0.5) * scale.rowPx;
  for (const mark of marks) paintMark(context, mark.outcome, x(mark.atNs), marksY);
  if (selected !== null) context.strokeRect(x(selected.atNs) - 8, marksY - 8, 16, 16);
  paintNames(context, scale, ink);
  context.fillStyle = ink('--strong');
  context.fillRect(x(scale.nowNs), 0, 1.5, scale.rows * scale.rowPx);
}

type Ink = (name: string) => string;

function paintGrid(
  context: CanvasRenderingContext2D,
  { fromNs, toNs, rows, rowPx }: Scale,
  x: (ns: number) => number,
  width: number,
  ink: Ink,
): void {
  context.fillStyle = ink('--line');
  for (let row = 1; row <= rows; row++) context.fillRect(0, row * rowPx - 1, width, 1);
  context.textAlign = 'center';
  const tickNs = tickOf(((toNs - fromNs) / width) * LEAST_TICK_PX);
  for (let ns = Math.ceil(Math.max(fromNs, 0) / tickNs) * tickNs; ns < toNs; ns += tickNs) {
    context.fillStyle = ink('--line');
    context.fillRect(x(ns), 0, 1, rows * rowPx);
    context.fillStyle = ink('--muted');
    context.fillText(`${ns / NS_PER_MS} ms`, x(ns), rows * rowPx + 11);
  }
  context.textAlign = 'left';
}

/** Names lie on top of the boxes, on a ground of their own. */
function paintNames(context: CanvasRenderingContext2D, { rows, rowPx }: Scale, ink: Ink): void {
  for (let row = 0; row < rows; row++) {
    const name = row === rows - 1 ? 'not in time' : `GPU ${row >> 1} ${row % 2 === 0 ? 'INFER' : 'LOAD'}`;
    context.globalAlpha = 0.8;
    context.fillStyle = ink('--card');
    context.fillRect(0, row * rowPx + 4, context.measureText(name).width + 6, rowPx - 9);
    context.globalAlpha = 1;
    context.fillStyle = ink('--ink');
    context.fillText(name, 3, (row + 0.5) * rowPx);
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
  // Neighbors of one model stay apart.
  const width = Math.max(x(box.toNs) - left - 1, 1);
  context.globalAlpha = box.hasBegun ? 1 : 0.45;
  context.fillStyle = modelColor(box.model);
  if (box.failure === '') context.fillRect(left, top, width, rowPx - 9);
  else paintMark(context, 'error', left, top + (rowPx - 9) / 2);
  context.globalAlpha = 1;
  // The window that it may begin in.
  context.fillStyle = ink('--muted');
  const latest = Number.isFinite(box.latestNs) ? box.latestNs : box.earliestNs;
  context.fillRect(x(box.earliestNs), top + rowPx - 8, Math.max(x(latest) - x(box.earliestNs), 1), 1.5);
  if (Number.isFinite(box.deadlineNs)) {
    context.fillStyle = ink('--alert');
    context.fillRect(x(box.deadlineNs), top - 3, 1.5, rowPx - 4);
  }
  if (width < LEAST_TEXT_PX || box.failure !== '' || !box.isInfer) return;
  context.fillStyle = '#000';
  context.fillText(String(box.count), left + 3, top + (rowPx - 9) / 2);
}

/** A late answer is a circle, a refusal a bar; what was given up or failed, a cross. */
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
