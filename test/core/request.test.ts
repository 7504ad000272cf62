import { describe, expect, it } from 'vitest';
import { RequestTable } from '../../src/core/request.js';

describe('RequestTable', () => {
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
});
