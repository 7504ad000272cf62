import { describe, expect, it } from 'vitest';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { renderPng, renderSvg, svgToPng } from '../../../src/report/html/render.js';
import { textWidth } from '../../../src/text/text-width.js';
import { sweepFixture } from '../fixtures.js';

const [chart] = sweepCharts(sweepFixture({ seeds: [1] }));
const spec = chart?.spec as NonNullable<typeof chart>['spec'];

describe('renderSvg', () => {
  it('draws titles and labels as text, the same bytes each time', async () => {
    const [once, again] = await Promise.all([renderSvg(spec), renderSvg(spec)]);
    expect(once).toContain('Goodput against schedule_ahead');
    expect(again).toBe(once);
  });
});

describe('renderPng', () => {
  it('has the size of the chart times the scale', async () => {
    const size = (png: Uint8Array) => new DataView(png.buffer, png.byteOffset).getUint32(16);
    const single = size(await renderPng(spec, { scale: 1 }));
    expect(single).toBeGreaterThan(600);
    expect(single).toBeLessThan(800);
    expect(Math.abs(size(await renderPng(spec)) - 2 * single)).toBeLessThanOrEqual(2);
  });

  it('draws text without any font on the machine', () => {
    const picture = (text: string) =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20"><rect width="80" height="20" fill="#fff"/><text x="2" y="15" font-family="Nowhere, sans-serif">${text}</text></svg>`;
    expect(Buffer.compare(svgToPng(picture('goodput')), svgToPng(picture('')))).not.toBe(0);
  });
});

describe('textWidth', () => {
  // Advance widths at 100 px, measured with the font itself in a browser.
  it.each([
    ['Goodput against schedule_ahead', 1575.3, 1611.4],
    ['1,200 requests/s', 783.8, 810.2],
    ['default (10 ms)', 702, 718.4],
    ['GPU 0 WEIGHTS', 795.4, 799.8],
    ['resnet50_v2_12 ×8', 862.6, 887.1],
  ])('is within 3 %% of the real width of %s', (text, regular, semiBold) => {
    expect(Math.abs(textWidth(text, 100) / regular - 1)).toBeLessThan(0.03);
    expect(Math.abs(textWidth(text, 100, true) / semiBold - 1)).toBeLessThan(0.03);
  });
});
