import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BitSet } from '../../src/base/bit-set.js';

const operation = fc.record({
  kind: fc.constantFrom('add', 'delete', 'include', 'clear'),
  member: fc.nat(),
  bits: fc.integer(),
});

function next(members: ReadonlySet<number>, from: number): number {
  const after = [...members].filter((member) => member >= from);
  return after.length === 0 ? -1 : Math.min(...after);
}

describe('BitSet', () => {
  it('behaves like a set of small integers, beyond 32 of them too', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(operation, { maxLength: 60 }), (size, ops) => {
        const set = new BitSet(size);
        const expected = new Set<number>();
        for (const { kind, member: raw, bits } of ops) {
          const member = raw % size;
          if (kind === 'add') {
            expect(set.add(member)).toBe(!expected.has(member));
            expected.add(member);
          } else if (kind === 'delete') expect(set.delete(member)).toBe(expected.delete(member));
          else if (kind === 'clear') {
            set.clear();
            expected.clear();
          } else {
            const index = member >>> 5;
            let mask = 0;
            for (let bit = 0; bit < 32; bit++) {
              if (index * 32 + bit >= size || (bits & (1 << bit)) === 0) continue;
              mask |= 1 << bit;
              expected.add(index * 32 + bit);
            }
            set.include(index, mask);
          }
        }
        expect(set.count).toBe(expected.size);
        for (let from = 0; from < size; from++) {
          expect(set.has(from)).toBe(expected.has(from));
          expect((set.word(from >>> 5) & (1 << (from & 31))) !== 0).toBe(expected.has(from));
          expect(set.next(from)).toBe(next(expected, from));
          const after = next(expected, from);
          expect(set.nextCyclic(from)).toBe(after >= 0 ? after : next(expected, 0));
        }
        expect(set.next(size)).toBe(-1);
      }),
    );
  });

  it('finds the next member that two sets have in common', () => {
    const members = fc.uniqueArray(fc.nat(69), { maxLength: 30 });
    fc.assert(
      fc.property(members, members, fc.nat(75), (left, right, from) => {
        const [a, b] = [left, right].map((list) => {
          const set = new BitSet(70);
          for (const member of list) set.add(member);
          return set;
        });
        const common = new Set(left.filter((member) => right.includes(member)));
        expect(a.nextCommon(b, from)).toBe(next(common, from));
      }),
    );
  });
});
