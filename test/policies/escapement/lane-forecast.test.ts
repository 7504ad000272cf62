import { describe, expect, it } from 'vitest';
import { LaneForecast } from '../../../src/policies/escapement/lane-forecast.js';

describe('LaneForecast', () => {
  it('is put right by results, and tells how the plan was', () => {
    const lane = new LaneForecast();
    lane.add(1, 30, 0, 10, 45);
    lane.add(2, 50, 4, 40, 95);
    expect(lane.finish(1, 47, 3)).toBe(true);
    expect(lane.ended).toMatchObject({ decidedNs: 0, freeNs: 0, answerNs: 45, wasBusy: false });
    expect(lane.lastEndNs).toBe(47);
    expect(lane.plannedFreeNs).toBe(97);
    expect(lane.finish(2, 96, 3)).toBe(true);
    expect(lane.ended).toMatchObject({ decidedNs: 4, freeNs: 40, wasBusy: true });
    // To an idle lane: what came before should have ended at 90.
    lane.add(3, 5, 200, 200, 205);
    lane.finish(3, 205, 3);
    expect(lane.ended).toMatchObject({ freeNs: 90, wasBusy: false });
    expect([lane.length, lane.freeNs(96, 0)]).toEqual([0, 0]);
  });

  it('keeps any number in order, whichever ends first', () => {
    const lane = new LaneForecast();
    let nextId = 0;
    const ids: number[] = [];
    const check = () => {
      expect(lane.length).toBe(ids.length);
      const totalNs = ids.reduce((sum, id) => sum + 10 + id, 0);
      if (ids.length > 0) expect(lane.plannedFreeNs - lane.headEndNs).toBe(totalNs - 10 - ids[0]);
    };
    for (let round = 1; round < 60; round++) {
      for (let i = 0; i < round % 7; i++) {
        lane.add(nextId, 10 + nextId, nextId, nextId, nextId);
        ids.push(nextId++);
      }
      check();
      for (let i = 0; i < round % 5 && ids.length > 0; i++) {
        const [id] = ids.splice((round * 3) % ids.length, 1);
        expect(lane.finish(id, round, 0)).toBe(true);
        expect([lane.ended.decidedNs, lane.ended.answerNs]).toEqual([id, id]);
      }
      check();
    }
    expect(nextId).toBeGreaterThan(100);
  });
});
