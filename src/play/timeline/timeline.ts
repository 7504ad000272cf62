import { INFER, LOAD } from '../../core/action.js';
import { OUTCOME_OK } from '../../core/request.js';
import type { LaneFrame, OpenedLane } from '../protocol.js';
import { ACTION, ACTION_COLUMNS, REQUEST, REQUEST_COLUMNS } from '../rows.js';
import { type Box, type Mark, modelColor, paint } from './paint.js';

interface TimelineOptions {
  /** A request was chosen. */
  onRequest(request: number): void;
}

/** What is shown before and after the present moment. */
const BEFORE_NS = 60e6;
const AFTER_NS = 20e6;
const ROW_PX = 26;
const AXIS_PX = 20;

/**
 * What the GPUs of one lane do around the present moment: per GPU a row of INFERs and one of LOADs, as boxes in the color of
 * their model, and below a row of the requests that were not answered in time.
 */
export class Timeline {
  private readonly canvas = document.createElement('canvas');
  private readonly boxes = new Map<number, Box>();
  private marks: Mark[] = [];
  private lane: OpenedLane | null = null;
  private nowNs = 0;
  private drawing = 0;
  private readonly resized = new ResizeObserver(() => this.drawSoon());

  constructor(
    box: HTMLElement,
    private readonly options: TimelineOptions,
  ) {
    const { canvas } = this;
    canvas.setAttribute('role', 'img');
    canvas.addEventListener('click', (event) => this.choose(event.offsetX));
    box.append(canvas);
    this.resized.observe(box);
  }

  /** A run begins: nothing has happened. */
  reset(lane: OpenedLane): void {
    this.lane = lane;
    this.boxes.clear();
    this.marks = [];
    this.nowNs = 0;
    this.canvas.style.height = `${this.rows * ROW_PX + AXIS_PX}px`;
    this.drawSoon();
  }

  /** What happened since the last frame. */
  add({ actions, requests }: LaneFrame, nowNs: number): void {
    this.nowNs = nowNs;
    for (let at = 0; at < actions.length; at += ACTION_COLUMNS) this.addAction(actions, at);
    for (let at = 0; at < requests.length; at += REQUEST_COLUMNS) {
      if (requests[at + REQUEST.outcome] === OUTCOME_OK && requests[at + REQUEST.cause] === -1) continue;
      this.marks.push({ request: requests[at + REQUEST.id]!, atNs: requests[at + REQUEST.answeredNs]! });
    }
    this.forget();
    this.drawSoon();
  }

  destroy(): void {
    cancelAnimationFrame(this.drawing);
    this.resized.disconnect();
    this.canvas.remove();
  }

  /** Two per GPU, and one of requests. */
  private get rows(): number {
    return (this.lane?.gpus ?? 0) * 2 + 1;
  }

  private get fromNs(): number {
    return this.nowNs - BEFORE_NS;
  }

  private addAction(actions: Float64Array, at: number): void {
    const kind = actions[at + ACTION.kind]!;
    if (kind !== INFER && kind !== LOAD) return;
    const read = (column: keyof typeof ACTION) => actions[at + ACTION[column]]!;
    const hasBegun = !Number.isNaN(read('beginNs'));
    const fromNs = hasBegun ? read('beginNs') : read('earliestNs');
    const toNs = Number.isNaN(read('endNs')) ? fromNs + read('expectedDurationNs') : read('endNs');
    this.boxes.set(read('id'), {
      ...{ fromNs, toNs, hasBegun },
      row: read('gpu') * 2 + (kind === LOAD ? 1 : 0),
      color: modelColor(read('model')),
      text: kind === LOAD ? '' : String(read('count')),
      earliestNs: read('earliestNs'),
      latestNs: read('latestNs'),
      deadlineNs: read('deadlineNs'),
    });
  }

  private forget(): void {
    for (const [id, { toNs }] of this.boxes) if (toNs < this.fromNs) this.boxes.delete(id);
    this.marks = this.marks.filter(({ atNs }) => atNs >= this.fromNs);
  }

  private drawSoon(): void {
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    if (this.lane === null) return;
    const { fromNs, nowNs, canvas, rows } = this;
    const scale = { fromNs, toNs: nowNs + AFTER_NS, nowNs, rows, rowPx: ROW_PX };
    paint(canvas, scale, [...this.boxes.values()], this.marks);
    canvas.setAttribute(
      'aria-label',
      `${this.lane.policy}: timeline of ${this.lane.gpus} GPUs around ${(nowNs / 1e6).toFixed(1)} ms, ${this.boxes.size} actions, ${this.marks.length} requests not in time`,
    );
  }

  /** The request not in time that is nearest to a click, if there is any. */
  private choose(x: number): void {
    const atNs = this.fromNs + (x / this.canvas.clientWidth) * (BEFORE_NS + AFTER_NS);
    const away = (mark: Mark) => Math.abs(mark.atNs - atNs);
    const [nearest] = [...this.marks].sort((a, b) => away(a) - away(b));
    if (nearest !== undefined) this.options.onRequest(nearest.request);
  }
}
