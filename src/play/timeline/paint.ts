/** An action. */
export interface Box {
  readonly row: number;
  readonly fromNs: number;
  readonly toNs: number;
  /** False: it is only planned. */
  readonly hasBegun: boolean;
  readonly color: string;
  /** Requests in it. */
  readonly text: string;
  readonly earliestNs: number;
  readonly latestNs: number;
  readonly deadlineNs: number;
}

/** A request that was not answered in time. */
export interface Mark {
  readonly request: number;
  readonly atNs: number;
}

interface Scale {
  readonly fromNs: number;
  readonly toNs: number;
  readonly nowNs: number;
  readonly rows: number;
  readonly rowPx: number;
}

/** Can be told apart by color-blind readers (Okabe and Ito, 2008), without black. */
const COLORS = ['#56b4e9', '#e69f00', '#009e73', '#f0e442', '#cc79a7', '#d55e00', '#0072b2'];
const TICK_NS = 10e6;
const NS_PER_MS = 1e6;
const LEAST_TEXT_PX = 12;

export function modelColor(model: number): string {
  return COLORS[model % COLORS.length]!;
}

/** Draws all of a timeline, in the colors of the page. */
export function paint(
  canvas: HTMLCanvasElement,
  scale: Scale,
  boxes: readonly Box[],
  marks: readonly Mark[],
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
  for (const box of boxes) paintBox(context, box, scale.rowPx, x, ink);
  const marksY = (scale.rows - 0.5) * scale.rowPx;
  context.strokeStyle = ink('--alert');
  context.lineWidth = 2;
  for (const { atNs } of marks) paintCross(context, x(atNs), marksY);
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
  for (let ns = Math.ceil(Math.max(fromNs, 0) / TICK_NS) * TICK_NS; ns < toNs; ns += TICK_NS) {
    context.fillStyle = ink('--line');
    context.fillRect(x(ns), 0, 1, rows * rowPx);
    context.fillStyle = ink('--muted');
    context.fillText(`${ns / NS_PER_MS} ms`, x(ns), rows * rowPx + 11);
  }
  context.textAlign = 'left';
  for (let row = 0; row < rows; row++) {
    const name = row === rows - 1 ? 'not in time' : `GPU ${row >> 1} ${row % 2 === 0 ? 'INFER' : 'LOAD'}`;
    context.fillText(name, 2, (row + 0.5) * rowPx);
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
  const width = Math.max(x(box.toNs) - left, 1);
  context.globalAlpha = box.hasBegun ? 1 : 0.45;
  context.fillStyle = box.color;
  context.fillRect(left, top, width, rowPx - 9);
  context.globalAlpha = 1;
  // The window that it may begin in.
  context.fillStyle = ink('--muted');
  const latest = Number.isFinite(box.latestNs) ? box.latestNs : box.earliestNs;
  context.fillRect(x(box.earliestNs), top + rowPx - 8, Math.max(x(latest) - x(box.earliestNs), 1), 1.5);
  if (Number.isFinite(box.deadlineNs)) {
    context.fillStyle = ink('--alert');
    context.fillRect(x(box.deadlineNs), top - 3, 1.5, rowPx - 4);
  }
  if (width < LEAST_TEXT_PX) return;
  context.fillStyle = '#000';
  context.fillText(box.text, left + 3, top + (rowPx - 9) / 2);
}

function paintCross(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y + 4);
  context.moveTo(x + 4, y - 4);
  context.lineTo(x - 4, y + 4);
  context.stroke();
}
