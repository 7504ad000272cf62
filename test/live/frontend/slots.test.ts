import { describe, expect, it } from 'vitest';
import { Slots } from '../../../src/live/frontend/slots.js';

describe('Slots', () => {
  it('gives each thing back once, and nothing for slots that are free or were never taken', () => {
    const slots = new Slots<{ name: string }>();
    const [a, b] = [{ name: 'a' }, { name: 'b' }];
    const [slotA, slotB] = [slots.add(a), slots.add(b)];
    expect(slots.take(slotA)).toBe(a);
    expect(slots.take(slotA)).toBeNull();
    expect(slots.take(slotB)).toBe(b);
    for (const never of [2, -1, 0.5, Number.NaN]) expect(slots.take(never)).toBeNull();
  });

  it('uses slots again, so that it stays as small as most were there at once', () => {
    const slots = new Slots<{ nth: number }>();
    const taken = new Set<number>();
    const open: number[] = [];
    for (let nth = 0; nth < 1000; nth++) {
      const slot = slots.add({ nth });
      expect(open).not.toContain(slot);
      taken.add(slot);
      open.push(slot);
      if (open.length === 10) slots.take(open.splice(nth % 10, 1)[0]);
    }
    expect(taken.size).toBe(10);
  });

  it('lists what is there, also while that changes', () => {
    const slots = new Slots<{ name: string }>();
    const names = ['a', 'b', 'c'];
    const places = names.map((name) => slots.add({ name }));
    slots.take(places[1]);
    expect([...slots].map(({ name }) => name)).toEqual(['a', 'c']);
    const seen: string[] = [];
    for (const { name } of slots) {
      seen.push(name);
      slots.take(places[2]);
    }
    expect(seen).toEqual(['a']);
  });
});
