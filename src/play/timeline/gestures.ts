import type { View } from './view.js';

interface GestureActions {
  /** Reports that the view was moved. */
  moved(): void;
  /** Reports a click or tap, or Enter; px from the upper left corner. */
  chosen(x: number, y: number): void;
  /** Reports the position of the mouse; null: it left. */
  hovered(at: { readonly x: number; readonly y: number } | null): void;
  /** Reports a step to the next missed request, or back. */
  stepped(forward: boolean): void;
  entered(): void;
}

const CLICK_PX = 4;
const KEY_PAN = 0.15;
const KEY_ZOOM = 1.4;
const WHEEL_ZOOM = 0.002;

/**
 * Moves a view by mouse, touch and keys: drag or wheel sideways to pan, Ctrl + wheel or two fingers to zoom (a bare
 * wheel scrolls the page), double click to follow the present moment again.
 */
export class Gestures {
  private readonly pointers = new Map<number, number>();
  private dragPx = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly view: View,
    private readonly actions: GestureActions,
  ) {
    canvas.style.touchAction = 'pan-y';
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointercancel', (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => actions.hovered(null));
    canvas.addEventListener('dblclick', () => this.follow());
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  private down(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.offsetX);
    this.dragPx = 0;
  }

  private move(event: PointerEvent): void {
    const { pointers, view, actions } = this;
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      actions.hovered({ x: event.offsetX, y: event.offsetY });
      return;
    }
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.dragPx += Math.abs(event.offsetX - before);
    if (other !== undefined) {
      const [was, is] = [Math.abs(before - other), Math.abs(event.offsetX - other)];
      if (was > 0 && is > 0) view.zoom(was / is, other);
    } else if (this.dragPx >= CLICK_PX) view.pan(view.nsOf(before - event.offsetX));
    pointers.set(event.pointerId, event.offsetX);
    actions.moved();
  }

  private up(event: PointerEvent): void {
    const isClick = this.pointers.delete(event.pointerId) && this.dragPx < CLICK_PX;
    if (isClick) this.actions.chosen(event.offsetX, event.offsetY);
  }

  private wheel(event: WheelEvent): void {
    const { view } = this;
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      view.zoom(Math.exp(event.deltaY * WHEEL_ZOOM), event.offsetX);
    } else if (Math.abs(sideways) > 0) view.pan(view.nsOf(sideways));
    else return;
    event.preventDefault();
    this.actions.moved();
  }

  private key(event: KeyboardEvent): void {
    const { view, actions } = this;
    const does: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => view.pan(-KEY_PAN * view.lengthNs),
      ArrowRight: () => view.pan(KEY_PAN * view.lengthNs),
      ArrowUp: () => actions.stepped(false),
      ArrowDown: () => actions.stepped(true),
      Enter: () => actions.entered(),
      '+': () => view.zoom(1 / KEY_ZOOM),
      '-': () => view.zoom(KEY_ZOOM),
      End: () => view.follow(),
    };
    const act = does[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
    actions.moved();
  }

  private follow(): void {
    this.view.follow();
    this.actions.moved();
  }
}
