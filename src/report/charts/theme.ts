import type { TopLevelSpec } from 'vega-lite';
import { significant } from '../../text/numbers.js';
import { wrapParts } from '../../text/wrap.js';
import { LIGHT, SERIES_COLORS } from '../colors.js';

/** A finished Vega-Lite 6 specification with its data inside. */
export type ChartSpec = TopLevelSpec;

/** Inter is bundled with the package for PNGs; other viewers of an SVG may use their own font. */
const FONT = 'Inter, system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif';
export const INK = LIGHT.ink;
export const MUTED = LIGHT.muted;
export const GRID = '#e3e7ec';
/** Colors of the highlighted value and of its reference. */
export const STRONG = LIGHT.strong;
export const WEAK = '#b9c4d0';
export const ALERT = '#b3261e';

/** Series differ in colour, dash and point shape together, so that a chart survives a black-and-white printer. */
const SERIES_DASHES = [
  [1, 0],
  [8, 3],
  [2, 2],
  [9, 3, 2, 3],
  [5, 2],
  [1, 3],
  [13, 4],
  [6, 2, 1, 2, 1, 2],
];
const SERIES_SHAPES = [
  'circle',
  'square',
  'triangle-up',
  'diamond',
  'cross',
  'triangle-down',
  'triangle-right',
  'triangle-left',
];

/** Style of the series with the given rank. */
export function seriesStyle(rank: number): { color: string; dash: number[]; shape: string } {
  const cycle = <T>(list: readonly T[]): T => list[rank % list.length] as T;
  // Shifted by one per round, so that a repeated shape gets another dash.
  const round = Math.floor(rank / SERIES_SHAPES.length);
  const dash = SERIES_DASHES[(rank + round) % SERIES_DASHES.length] as number[];
  return { color: cycle(SERIES_COLORS), dash, shape: cycle(SERIES_SHAPES) };
}

/** Legend above a plot. */
const LEGEND = { title: null, orient: 'top', labelLimit: 200 } as const;

/**
 * Encodings of a chart's series by the field that names them, with a legend, of points or else lines, if there are
 * several.
 */
export function seriesEncoding<Style extends object>(
  field: string,
  names: readonly string[],
  styles: readonly Style[],
  { title = null, points = true }: { readonly title?: string | null; readonly points?: boolean } = {},
) {
  const symbol = points
    ? { symbolSize: 90, symbolStrokeWidth: 0 }
    : { symbolType: 'stroke', symbolSize: 400 };
  const legend = names.length > 1 ? { ...LEGEND, ...symbol, title } : null;
  return (part: keyof Style) => {
    const scale = { domain: names, range: styles.map((style) => style[part]) };
    return { field, type: 'nominal', sort: names, scale, legend };
  };
}

/** Styles of series without one of their own. */
export function seriesStyles(series: readonly unknown[]) {
  return series.map((_, rank) => seriesStyle(rank));
}

const SUBTITLE_SIZE = 13;

interface Heading {
  readonly title: string;
  /** The finding in words. */
  readonly subtitle: string;
  /** Width of the whole picture, px; the subtitle wraps to it. */
  readonly width: number;
  /** True if its layout follows the width of its plots, so that a page may make them narrower. */
  readonly fluid?: boolean;
}

/** Facts about a chart for pages. */
export type ChartMeta = Pick<Heading, 'subtitle' | 'fluid'>;

/**
 * A whole chart: the shared parts (schema, heading, white background, axes) and its own. `body` is not typed as
 * Vega-Lite's because that rejects readonly arrays; a test compiles every chart and fails on the first warning.
 */
export function chart(heading: Heading, body: object): ChartSpec {
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    // Text for screen readers.
    description: `${heading.title}. ${heading.subtitle}`,
    usermeta: { subtitle: heading.subtitle, fluid: heading.fluid ?? false },
    background: '#ffffff',
    padding: 14,
    title: {
      text: heading.title,
      subtitle: wrapParts(heading.subtitle, SUBTITLE_SIZE, heading.width),
      anchor: 'start',
      frame: 'bounds',
      offset: 14,
    },
    config: CONFIG,
    ...body,
  } as unknown as ChartSpec;
}

/** Parts of a subtitle or note; empty ones are left out. */
export function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

const CONFIG = {
  font: FONT,
  view: { stroke: null },
  title: {
    color: INK,
    fontSize: 17,
    fontWeight: 600,
    subtitleColor: MUTED,
    subtitleFontSize: SUBTITLE_SIZE,
    subtitleLineHeight: 18,
    subtitlePadding: 5,
  },
  axis: {
    labelColor: INK,
    labelFontSize: 12,
    titleColor: MUTED,
    titleFontSize: 12.5,
    titleFontWeight: 400,
    titlePadding: 10,
    labelFlush: false,
    gridColor: GRID,
    domainColor: '#9aa5b1',
    tickColor: '#9aa5b1',
  },
  legend: { labelColor: INK, labelFontSize: 12, titleColor: MUTED, titleFontSize: 12, titleFontWeight: 400 },
  text: { color: INK, fontSize: 12 },
} as const;

/** Upper end of an axis from 0: a round number with some margin above `max`. */
export function niceTop(max: number): number {
  if (!(max > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  const step = ([0.1, 0.2, 0.25, 0.5, 1].find((share) => max / (share * power) <= 8) ?? 2) * power;
  return significant(Math.ceil((max * 1.02) / step) * step, 12);
}

/** In a browser: drag to pan in time, Ctrl + wheel to zoom (a bare wheel scrolls the page), double click to reset. */
export const ZOOM_TIME = {
  name: 'zoom',
  select: { type: 'interval', encodings: ['x'], zoom: 'wheel![event.ctrlKey]' },
  bind: 'scales',
} as const;

/** Values that span more than this factor get a logarithmic axis. */
const LOG_FACTOR = 20;
/** Margin around the outermost marks, as a share of the axis. */
const AIR = 0.02;
/** Largest number of values that get a tick each. */
const MOST_TICKS = 12;

/** Scale and axis for some values along x. */
export function numberScale(values: readonly number[], logFactor = LOG_FACTOR) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const isLog = low > 0 && high / low >= logFactor;
  const air = isLog ? (high / low) ** AIR : (high - low) * AIR || 1;
  const domain = isLog ? [low / air, high * air] : [low - air, high + air];
  return {
    scale: { type: isLog ? 'log' : 'linear', nice: false, domain, ...(isLog ? {} : { zero: false }) },
    axis: {
      grid: false,
      labelOverlap: 'greedy',
      labelSeparation: 6,
      format: '.6~f',
      ...(values.length <= MOST_TICKS ? { values } : { tickCount: 8 }),
    },
  };
}

/** A rule across a plot with a label at its end. `axis`: encoding of its position, a field of `at`. */
export function labelledRule(
  axis: { readonly x: object } | { readonly y: object },
  at: object,
  rule: object,
  label: object,
) {
  const layer = { data: { values: [at] }, encoding: axis };
  return [
    { ...layer, mark: { type: 'rule', color: MUTED, ...rule } },
    { ...layer, mark: { type: 'text', color: MUTED, ...label } },
  ];
}
