import { DEFAULT_COLUMN } from './model-columns.js';

/** What the user has chosen to see. */
export interface ViewState {
  /** Column of the model table that it is sorted by. */
  readonly sort: string;
  readonly reversed: boolean;
  /** First model shown. */
  readonly scroll: number;
  /** Only models whose name has this in it. */
  readonly filter: string;
  /** The filter is being typed. */
  readonly typing: boolean;
  readonly paused: boolean;
  readonly help: boolean;
}

export const FIRST_VIEW: ViewState = {
  sort: DEFAULT_COLUMN,
  reversed: false,
  scroll: 0,
  filter: '',
  typing: false,
  paused: false,
  help: false,
};

/** What is on the screen now. */
export interface Extent {
  /** Models that fit, and models that there are. */
  readonly page: number;
  readonly total: number;
  /** Columns of the model table that are shown. */
  readonly columns: readonly string[];
}

/** A key as `node:readline` reports it. */
export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

export const QUIT = 'quit';

/** The view after a key was pressed, or `QUIT`. */
export function pressed(view: ViewState, key: Key, extent: Extent): ViewState | typeof QUIT {
  if (key.ctrl === true && (key.name === 'c' || key.name === 'd')) return QUIT;
  if (view.typing) return typed(view, key);
  if (view.help) return key.name === 'q' ? QUIT : { ...view, help: false };
  const scrollTo = scrolled(view.scroll, key, extent);
  if (scrollTo !== null) return { ...view, scroll: clamp(scrollTo, extent) };
  switch (key.sequence) {
    case 'q':
      return QUIT;
    case 's':
    case '>':
      return sortedBy(view, extent, 1);
    case 'S':
    case '<':
      return sortedBy(view, extent, -1);
    case 'r':
      return { ...view, reversed: !view.reversed, scroll: 0 };
    case 'p':
    case ' ':
      return { ...view, paused: !view.paused };
    case '/':
      return { ...view, typing: true };
    case '?':
    case 'h':
      return { ...view, help: true };
    default:
      return key.name === 'escape' ? { ...view, filter: '', scroll: 0 } : view;
  }
}

function typed(view: ViewState, { name, sequence = '', ctrl, meta }: Key): ViewState {
  if (name === 'escape') return { ...view, filter: '', typing: false, scroll: 0 };
  if (name === 'return' || name === 'enter') return { ...view, typing: false };
  if (name === 'backspace') return { ...view, filter: [...view.filter].slice(0, -1).join(''), scroll: 0 };
  if (ctrl === true && name === 'u') return { ...view, filter: '', scroll: 0 };
  const isText = ctrl !== true && meta !== true && /^[^\p{C}]+$/u.test(sequence);
  return isText ? { ...view, filter: view.filter + sequence, scroll: 0 } : view;
}

/** Where to scroll to; null: that key is not for scrolling. */
function scrolled(scroll: number, { name, sequence }: Key, { page, total }: Extent): number | null {
  if (sequence === 'G') return total;
  if (sequence === 'g') return 0;
  switch (name) {
    case 'up':
    case 'k':
      return scroll - 1;
    case 'down':
    case 'j':
      return scroll + 1;
    case 'pageup':
      return scroll - page;
    case 'pagedown':
      return scroll + page;
    case 'home':
      return 0;
    case 'end':
      return total;
    default:
      return null;
  }
}

function clamp(scroll: number, { page, total }: Extent): number {
  return Math.max(0, Math.min(scroll, total - page));
}

function sortedBy(view: ViewState, { columns }: Extent, step: number): ViewState {
  const at = columns.indexOf(view.sort);
  const next = columns[(at + step + columns.length) % columns.length];
  return { ...view, sort: next, reversed: false, scroll: 0 };
}
