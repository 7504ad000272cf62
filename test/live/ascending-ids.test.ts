import { describe, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { AscendingIds } from '../../src/live/controller/link/result-check.js';

describe('AscendingIds', () => {
  it('gives each thing back once, by its id', () => {
    const things = new AscendingIds<{ id: number }>();
    for (const id of [3, 7, 8]) things.add(id, { id });
    expect(things.get(7)).toEqual({ id: 7 });
    expect(things.take(7)).toEqual({ id: 7 });
    for (const id of [7, 2, 4, 9, -1, Number.NaN]) {
      expect(things.get(id)).toBeNull();
      expect(things.take(id)).toBeNull();
    }
    expect([...things]).toEqual([{ id: 3 }, { id: 8 }]);
    things.clear();
    expect([...things]).toEqual([]);
    expect(things.take(3)).toBeNull();
  });

  it('does what a map does, whatever goes first and however long something stays', () => {
    const random = stream(7, 'ascending-ids');
    const things = new AscendingIds<{ id: number }>();
    const map = new Map<number, { id: number }>();
    let id = 0;
    for (let i = 0; i < 20_000; i++) {
      if (map.size === 0 || (map.size < 100 && random() < 0.5)) {
        id += 1 + Math.floor(random() * 3);
        things.add(id, { id });
        map.set(id, { id });
      } else {
        // The oldest stays.
        const ids = [...map.keys()];
        const one = ids[map.size === 1 ? 0 : 1 + Math.floor(random() * (ids.length - 1))];
        expect(things.take(one)).toEqual(map.get(one));
        map.delete(one);
      }
      if (i % 1000 === 0) expect([...things]).toEqual([...map.values()]);
    }
  });

  it('takes no id that is not larger than those before', () => {
    const things = new AscendingIds<object>();
    things.add(5, {});
    expect(() => things.add(5, {})).toThrow('ids grow');
  });
});
