import type { LaneFrame, OpenedLane, Story } from '../protocol.js';
import { Gestures } from './gestures.js';
import { onColors, paint } from './paint.js';
import { type Box, type Mark, Scene } from './scene.js';
import { GUTTER_PX, View } from './view.js';

interface TimelineOptions {
  /** Reports that a request was chosen. */
  onRequest(request: number): void;
  /** Time span shown at first. Default: 80 ms. */
  readonly lengthNs?: number;
}

/** Properties of a run known before it begins. */
type TimelineSetup = Pick<OpenedLane, 'gpus' | 'models' | 'policy'>;
/** Changes since the last rows: sent by an engine, or a server. */
type TimelineRows = Pick<LaneFrame, 'actions' | 'requests'>;

const ROW_PX = 26;
const AXIS_PX = 20;
/** Maximum distance of a click that selects a mark. */
const NEAR_PX = 12;
const NS_PER_MS = 1e6;
/** Minimum interval between announcements to screen readers. */
const SAY_MS = 5000;

/**
 * Timeline of a run's GPUs: for each GPU, a row of INFERs and one of LOADs, as boxes in the colors of their models with
 * their start windows, and below them a row of the requests that were not answered in time. It follows the present
 * moment; mouse, touch and keys pan and zoom.
 */
export class Timeline {
  private readonly canvas = document.createElement('canvas');
  private readonly tip = document.createElement('div');
  private readonly said = document.createElement('p');
  private readonly scene = new Scene();
  private readonly view: View;
  /** Until a run begins there is room for one GPU. */
  private setup: TimelineSetup = { gpus: 1, models: [], policy: '' };
  private nowNs = 0;
  private drawing = 0;
  private saidMs = Number.NEGATIVE_INFINITY;
  private selected: Mark | null = null;
  private explained: Story | null = null;
  private readonly resized = new ResizeObserver(() => this.drawSoon());
  private readonly ignoreColors = onColors(() => this.drawSoon());
  private readonly still = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(
    box: HTMLElement,
    private readonly options: TimelineOptions,
  ) {
    this.view = new View(options.lengthNs);
    const { canvas, tip, said } = this;
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-roledescription', 'timeline');
    tip.className = 'timeline-tip';
    tip.hidden = true;
    tip.style.cssText =
      'position:absolute;z-index:1;pointer-events:none;max-width:22em;padding:4px 8px;border-radius:6px;font-size:12px;background:var(--ink);color:var(--card)';
    said.setAttribute('aria-live', 'polite');
    said.style.cssText =
      'position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)';
    this.fit();
    box.style.position = 'relative';
    box.append(canvas, tip, said);
    new Gestures(canvas, this.view, {
      moved: () => this.drawSoon(),
      chosen: (x, y) => this.choose(x, y),
      hovered: (at) => this.showTip(at),
      stepped: (forward) => this.select(forward),
      entered: () => this.selected !== null && this.options.onRequest(this.selected.request),
    });
    this.resized.observe(box);
  }

  /** Clears the timeline for a new run. */
  reset(setup: TimelineSetup): void {
    this.setup = setup;
    this.scene.clear();
    this.view.follow();
    this.selected = null;
    this.explained = null;
    this.nowNs = 0;
    this.fit();
    this.canvas.setAttribute(
      'aria-label',
      `Timeline of ${setup.gpus} GPUs under ${setup.policy}. Left and right move along time, plus and minus zoom, up and down choose a request that was not answered in time, Enter tells its story, End follows the present.`,
    );
    this.drawSoon();
  }

  add({ actions, requests }: TimelineRows, nowNs: number): void {
    this.nowNs = nowNs;
    this.scene.add(actions, requests);
    this.drawSoon();
  }

  /** Marks the actions and the deadline of a request; null: none. */
  tell(story: Story | null): void {
    this.explained = story;
    this.drawSoon();
  }

  destroy(): void {
    cancelAnimationFrame(this.drawing);
    this.resized.disconnect();
    this.ignoreColors();
    for (const element of [this.canvas, this.tip, this.said]) element.remove();
  }

  /** Number of rows: two per GPU, and one for requests. */
  private get rows(): number {
    return this.setup.gpus * 2 + 1;
  }

  private fit(): void {
    this.canvas.style.height = `${this.rows * ROW_PX + AXIS_PX}px`;
  }

  private drawSoon(): void {
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame((wallMs) => this.draw(wallMs));
  }

  private draw(wallMs: number): void {
    const { view, nowNs, scene, canvas, rows, selected, explained: story } = this;
    view.resize(canvas.clientWidth);
    view.present(nowNs, !this.still.matches);
    const { boxes, marks } = scene.within(view.fromNs, view.toNs);
    const explained = story && { ...story, boxes: scene.of(story.actions).filter(({ isInfer }) => isInfer) };
    paint(canvas, { view, nowNs, rows, rowPx: ROW_PX }, boxes, marks, selected, explained);
    if (wallMs - this.saidMs < SAY_MS) return;
    this.saidMs = wallMs;
    const running = boxes.filter((box) => box.hasBegun && box.fromNs <= nowNs && nowNs < box.toNs).length;
    this.said.textContent = `${ms(nowNs)}: ${running} actions run, ${marks.length} requests in view were not answered in time`;
  }

  private rowAt(y: number): number {
    return Math.floor(y / ROW_PX);
  }

  private markNear(x: number): Mark | null {
    return this.scene.markAt(this.view.nsAt(x), this.view.nsOf(NEAR_PX));
  }

  /** Box at a position; none in the gutter. */
  private boxAt(row: number, x: number): ReturnType<Scene['boxAt']> {
    return x < GUTTER_PX ? null : this.scene.boxAt(row, this.view.nsAt(x));
  }

  private choose(x: number, y: number): void {
    const row = this.rowAt(y);
    const request = row >= this.rows - 1 ? this.markNear(x)?.request : this.boxAt(row, x)?.request;
    if (request !== undefined) this.options.onRequest(request);
  }

  /** Selects the next missed request, or the previous one; without a selection the last one. */
  private select(forward: boolean): void {
    const { marks } = this.scene;
    const at = this.selected === null ? -1 : marks.indexOf(this.selected);
    const next = at < 0 ? marks.at(-1) : marks[at + (forward ? 1 : -1)];
    if (next === undefined) return;
    this.selected = next;
    this.view.center(next.atNs);
    this.said.textContent = this.markText(next);
  }

  private showTip(at: { readonly x: number; readonly y: number } | null): void {
    const text = at === null ? '' : this.textAt(at.x, at.y);
    this.tip.hidden = text === '';
    if (at === null || text === '') return;
    this.tip.textContent = text;
    const rightmost = this.canvas.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(at.x + 12, rightmost))}px`;
    this.tip.style.top = `${at.y + 14}px`;
  }

  private textAt(x: number, y: number): string {
    const row = this.rowAt(y);
    if (row >= this.rows - 1) {
      const mark = this.markNear(x);
      return mark === null ? '' : this.markText(mark);
    }
    const found = this.boxAt(row, x);
    return found === null ? '' : this.boxText(found.box);
  }

  private markText({ request, model, outcome, atNs }: Mark): string {
    return `request ${request} for ${this.setup.models[model]}: ${outcome} at ${ms(atNs)}`;
  }

  private boxText(box: Box): string {
    const { model, isInfer, count, batchSize, fromNs, toNs, earliestNs, latestNs, hasBegun, failure } = box;
    const what = isInfer ? `INFER of ${count} in a batch of ${batchSize}` : 'LOAD';
    const latest = Number.isFinite(latestNs) ? ms(latestNs) : 'any time';
    const ran = failure !== '' ? failure : `${hasBegun ? 'runs' : 'planned'} ${ms(fromNs)} to ${ms(toNs)}`;
    return `${what}, ${this.setup.models[model]}: ${ran}; may start ${ms(earliestNs)} to ${latest}`;
  }
}

function ms(ns: number): string {
  return `${(ns / NS_PER_MS).toFixed(2)} ms`;
}
