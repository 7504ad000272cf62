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
    const capacity = table.id.length;
    for (let i = 0; i < capacity; i++) table.allocate(0, 0, 1, 0);
    const columns = () =>
      Object.entries(table).flatMap(([name, column]) =>
        ArrayBuffer.isView(column) ? [[name, column as Int32Array] as const] : [],
      );
    expect(columns().length).toBeGreaterThan(20);
    for (const [i, [, column]] of columns().entries())
      for (let slot = 0; slot < capacity; slot++) column[slot] = (7 * slot + i) % 100;
    const before = columns().map(([name, column]) => [name, [...column]]);
    table.allocate(0, 0, 1, 0);
    expect(table.id.length).toBeGreaterThan(capacity);
    for (const [name, column] of columns()) expect(column.length, name).toBe(table.id.length);
    expect(columns().map(([name, column]) => [name, [...column.subarray(0, capacity)]])).toEqual(before);
  });
});
