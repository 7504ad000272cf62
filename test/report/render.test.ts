import { describe, expect, it } from 'vitest';
import { sweepCharts } from '../../src/report/chart-sets.js';
import { renderPng, renderSvg, svgToPng } from '../../src/report/render.js';
import { textWidth } from '../../src/report/text-width.js';
import { sweepFixture } from './fixtures.js';

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
    expect(single).toBeGreaterThan(650);
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
  it('is near the real advance widths of Inter', () => {
    // 16 px, measured in a browser.
    expect(textWidth('Goodput against schedule_ahead', 16)).toBeGreaterThan(225);
    expect(textWidth('Goodput against schedule_ahead', 16)).toBeLessThan(255);
  });
});
