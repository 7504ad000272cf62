import { describe, expect, it } from 'vitest';
import { REQUEST_FREE, REQUEST_QUEUED, RequestTable } from '../../src/core/request.js';

describe('RequestTable', () => {
  it('numbers requests from 0 in the order they come, and uses slots again', () => {
    const table = new RequestTable();
    const first = table.allocate(3, 100, 50, 7);
    const second = table.allocate(4, 110, 60, 8);
    expect([table.id[first], table.id[second], table.size]).toEqual([0, 1, 2]);
    table.release(first);
    expect(table.state[first]).toBe(REQUEST_FREE);
    const third = table.allocate(5, 120, 70, 9);
    expect(third).toBe(first);
    expect([table.id[third], table.state[third], table.size]).toEqual([2, REQUEST_QUEUED, 2]);
    expect([table.model[third], table.arrivalNs[third], table.sloNs[third], table.user[third]]).toEqual([
      5, 120, 70, 9,
    ]);
  });

  it('forgets the demand of the request that had the slot before', () => {
    const table = new RequestTable();
    const slot = table.allocate(0, 0, 1, 0);
    table.execDemand[slot] = 5;
    table.loadDemand[slot] = 6;
    table.release(slot);
    expect(table.allocate(0, 0, 1, 0)).toBe(slot);
    expect([table.execDemand[slot], table.loadDemand[slot]]).toEqual([0, 0]);
  });

  it('grows, and keeps everything that it knows', () => {
    const table = new RequestTable();
    for (let i = 0; i < 5000; i++) {
      const slot = table.allocate(i % 11, i * 1000, i, i % 5);
      table.dueNs[slot] = i * 2;
      table.arrivalCopies[slot] = i % 3;
    }
    expect(table.size).toBe(5000);
    for (let slot = 0; slot < 5000; slot++) {
      expect([table.id[slot], table.model[slot], table.arrivalNs[slot], table.sloNs[slot]]).toEqual([
        slot,
        slot % 11,
        slot * 1000,
        slot,
      ]);
      expect([table.user[slot], table.dueNs[slot], table.arrivalCopies[slot]]).toEqual([
        slot % 5,
        slot * 2,
        slot % 3,
      ]);
    }
  });

  it('needs no more slots than requests wait at a time', () => {
    const table = new RequestTable();
    for (let i = 0; i < 10_000; i++) table.release(table.allocate(0, i, 1, 0));
    expect(table.size).toBe(0);
    expect(table.id.length).toBe(1024);
  });
});
