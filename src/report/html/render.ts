import { fileURLToPath } from 'node:url';
import { Resvg } from '@resvg/resvg-js';
import * as vega from 'vega';
import { compile } from 'vega-lite';
import { printable } from '../../base/printable.js';
import { textWidth } from '../../text/text-width.js';
import type { ChartSpec } from '../charts/theme.js';
import { html } from './markup.js';

/** Machines may have no fonts at all, so the PNG's font is bundled with the package. */
const FONT_FILES = ['400Regular/Inter_400Regular.ttf', '600SemiBold/Inter_600SemiBold.ttf'].map((file) =>
  fileURLToPath(import.meta.resolve(`@expo-google-fonts/inter/${file}`)),
);

/**
 * Draws a chart as SVG, offline. The same specification gives the same bytes.
 */
export async function renderSvg(spec: ChartSpec): Promise<string> {
  return withOurMetrics(async () => {
    const view = new vega.View(vega.parse(toVega(spec)), { renderer: 'none', logLevel: vega.Error });
    try {
      return named(await view.toSVG(), spec.description ?? '');
    } finally {
      view.finalize();
    }
  });
}

/** Gives a picture a name for screen readers. */
function named(svg: string, description: string): string {
  const { text } = html`${description}`;
  return svg.replace('<svg ', () => `<svg role="img" aria-label="${text}" `);
}

/** Draws a chart as PNG, offline and on any machine; `scale` 2 (the default) suits documents and dense screens. */
export async function renderPng(
  spec: ChartSpec,
  options: { readonly scale?: number } = {},
): Promise<Uint8Array> {
  return svgToPng(await renderSvg(spec), options);
}

/** PNG of an SVG from `renderSvg`. */
export function svgToPng(svg: string, options: { readonly scale?: number } = {}): Uint8Array {
  const resvg = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: options.scale ?? 2 },
    font: {
      fontFiles: FONT_FILES,
      loadSystemFonts: false,
      defaultFontFamily: 'Inter',
      sansSerifFamily: 'Inter',
    },
  });
  return resvg.render().asPng();
}

/** Vega specification that a browser can run with the Vega runtime alone, with texts that are valid in SVG. */
export function toVega(spec: ChartSpec): vega.Spec {
  return compile(withPrintableTexts(spec) as ChartSpec, { logger: vega.logger(vega.Error) }).spec;
}

/** Cleans all texts alike, since user-defined names occur in data, titles and expressions, which must agree. */
function withPrintableTexts(value: unknown): unknown {
  if (typeof value === 'string') return printable(value, '\n\t');
  if (Array.isArray(value)) return value.map(withPrintableTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [printable(key), withPrintableTexts(each)]),
  );
}

interface TextItem {
  readonly fontSize?: number;
  readonly fontWeight?: number | string;
  readonly limit?: number;
}

interface SceneGraph {
  readonly textMetrics: { width: (item: TextItem, text: unknown) => number };
  resetSVGDefIds(): void;
}

/** Sets Vega's globals for clip path numbers and text metrics for one drawing at a time, never two. */
async function withOurMetrics(draw: () => Promise<string>): Promise<string> {
  const turn = queue.then(async () => {
    const scene = vega as unknown as SceneGraph;
    const before = scene.textMetrics.width;
    scene.textMetrics.width = (item, text) =>
      Math.min(
        textWidth(lineOf(text), item.fontSize ?? 11, item.fontWeight === 600),
        item.limit || Number.POSITIVE_INFINITY,
      );
    scene.resetSVGDefIds();
    try {
      return await draw();
    } finally {
      scene.textMetrics.width = before;
    }
  });
  queue = turn.catch(() => undefined);
  return turn;
}

let queue: Promise<unknown> = Promise.resolve();

function lineOf(text: unknown): string {
  return Array.isArray(text) ? String(text[0] ?? '') : String(text ?? '');
}
