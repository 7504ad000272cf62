import { describe, expect, it } from 'vitest';
import { GUTTER_PX, View } from '../../../src/play/timeline/view.js';

const MS = 1e6;
/** A canvas on which a pixel of time is 0.1 ms at first. */
const WIDTH_PX = GUTTER_PX + 800;

function viewOf(fromNs: number): View {
  const view = new View();
  view.resize(WIDTH_PX);
  view.pan(fromNs - view.fromNs);
  return view;
}

describe('a view', () => {
  it('starts right of the gutter and ends at the right edge', () => {
    const view = viewOf(20 * MS);
    expect(view.lengthNs).toBe(80 * MS);
    expect(view.xAt(20 * MS)).toBe(GUTTER_PX);
    expect(view.xAt(60 * MS)).toBe(GUTTER_PX + 400);
    expect(view.xAt(view.toNs)).toBe(WIDTH_PX);
    expect(view.xAt(10 * MS)).toBe(GUTTER_PX - 100);
  });

  it('finds the moment at a pixel', () => {
    const view = viewOf(20 * MS);
    expect(view.nsAt(GUTTER_PX)).toBe(20 * MS);
    expect(view.nsAt(GUTTER_PX + 10)).toBeCloseTo(21 * MS, 3);
    expect(view.nsOf(10)).toBe(1 * MS);
    for (const x of [0, GUTTER_PX, 333, WIDTH_PX]) expect(view.xAt(view.nsAt(x))).toBeCloseTo(x, 6);
  });

  it('stays finite on a canvas that has no room', () => {
    const view = viewOf(0);
    view.resize(0);
    expect(Number.isFinite(view.xAt(1 * MS))).toBe(true);
    expect(Number.isFinite(view.nsAt(0))).toBe(true);
  });

  it('keeps what is at a pixel where it zooms, and the middle without one', () => {
    const view = viewOf(20 * MS);
    const x = GUTTER_PX + 200;
    view.zoom(0.5, x);
    expect(view.lengthNs).toBe(40 * MS);
    expect(view.nsAt(x)).toBeCloseTo(40 * MS, 3);
    expect(view.fromNs).toBeCloseTo(30 * MS, 3);
    view.zoom(2);
    expect(view.fromNs).toBeCloseTo(10 * MS, 3);
    expect(view.toNs).toBeCloseTo(90 * MS, 3);
  });

  it('zooms within limits', () => {
    const view = viewOf(0);
    view.zoom(1e-9);
    expect(view.lengthNs).toBe(2 * MS);
    view.zoom(1e9);
    expect(view.lengthNs).toBe(5000 * MS);
  });

  it('centers a moment', () => {
    const view = viewOf(0);
    view.center(500 * MS);
    expect(view.nsAt(GUTTER_PX + 400)).toBeCloseTo(500 * MS, 3);
  });
});

describe('a view that follows the present', () => {
  const following = () => {
    const view = new View();
    view.resize(WIDTH_PX);
    return view;
  };

  it('moves with it, three quarters of the way', () => {
    const view = following();
    for (const nowNs of [0, 1 * MS, 300 * MS]) {
      view.present(nowNs, true);
      expect(view.xAt(nowNs)).toBeCloseTo(GUTTER_PX + 600, 6);
    }
  });

  it('moves in steps where motion is reduced', () => {
    const view = following();
    const froms = new Set<number>();
    for (let nowNs = 0; nowNs <= 160 * MS; nowNs += MS / 2) {
      view.present(nowNs, false);
      froms.add(view.fromNs);
      expect(view.xAt(nowNs)).toBeGreaterThanOrEqual(GUTTER_PX);
      expect(view.xAt(nowNs)).toBeLessThan(WIDTH_PX);
    }
    expect(froms.size).toBeLessThanOrEqual(4);
  });

  it('shows what led to the moment that it jumps to', () => {
    const view = following();
    for (const nowNs of [0, 900 * MS, 100 * MS]) {
      view.present(nowNs, false);
      expect(view.xAt(nowNs)).toBeCloseTo(GUTTER_PX + 600, 6);
    }
  });

  it('stays where the reader moves it, until it is to follow again', () => {
    const view = following();
    view.present(100 * MS, true);
    view.pan(-30 * MS);
    const { fromNs } = view;
    view.present(200 * MS, true);
    expect(view.fromNs).toBe(fromNs);
    view.follow();
    view.present(200 * MS, true);
    expect(view.xAt(200 * MS)).toBeCloseTo(GUTTER_PX + 600, 6);
  });

  it('keeps the present where it is when it zooms', () => {
    const view = following();
    view.present(100 * MS, true);
    view.zoom(0.5, GUTTER_PX);
    expect(view.xAt(100 * MS)).toBeCloseTo(GUTTER_PX + 600, 6);
  });
});
