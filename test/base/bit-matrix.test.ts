import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BitMatrix } from '../../src/base/bit-matrix.js';
import { BitSet } from '../../src/base/bit-set.js';

const ROWS = 3;

/** The same rows as sets of columns. */
class Sets {
  readonly rows = Array.from({ length: ROWS }, () => new Set<number>());

  next(row: number, from: number): number {
    const after = [...this.rows[row]].filter((column) => column >= from);
    return after.length === 0 ? -1 : Math.min(...after);
  }

  word(row: number, index: number): number {
    let word = 0;
    for (const column of this.rows[row]) if (column >>> 5 === index) word |= 1 << (column & 31);
    return word;
  }
}

const operation = fc.record({
  kind: fc.constantFrom('add', 'delete', 'include', 'exclude', 'clear'),
  row: fc.nat(ROWS - 1),
  column: fc.nat(),
  bits: fc.integer(),
});

describe('BitMatrix', () => {
  it('behaves like one set of columns a row, beyond 32 columns too', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.array(operation, { maxLength: 60 }),
        (columns, ops) => {
          const matrix = new BitMatrix(ROWS, columns);
          const sets = new Sets();
          for (const { kind, row, column: raw, bits } of ops) {
            const column = raw % columns;
            const set = sets.rows[row];
            const index = column >>> 5;
            const inWord = Array.from({ length: 32 }, (_, i) => index * 32 + i).filter(
              (c) => c < columns && (bits & (1 << (c & 31))) !== 0,
            );
            const mask = inWord.reduce((word, c) => word | (1 << (c & 31)), 0);
            if (kind === 'add') {
              expect(matrix.add(row, column)).toBe(!set.has(column));
              set.add(column);
            } else if (kind === 'delete') expect(matrix.delete(row, column)).toBe(set.delete(column));
            else if (kind === 'clear') {
              matrix.clear(row);
              set.clear();
            } else if (kind === 'include') {
              matrix.include(row, index, mask);
              for (const c of inWord) set.add(c);
            } else {
              matrix.exclude(row, index, bits);
              for (const c of inWord) set.delete(c);
            }
          }
          const third = new BitSet(columns);
          for (let column = 0; column < columns; column += 3) third.add(column);
          for (let row = 0; row < ROWS; row++) {
            expect(matrix.count(row)).toBe(sets.rows[row].size);
            for (let w = 0; w < matrix.words; w++) expect(matrix.word(row, w)).toBe(sets.word(row, w));
            for (let from = 0; from < columns; from++) {
              expect(matrix.has(row, from)).toBe(sets.rows[row].has(from));
              expect(matrix.next(row, from)).toBe(sets.next(row, from));
              const cyclic = sets.next(row, from) >= 0 ? sets.next(row, from) : sets.next(row, 0);
              expect(matrix.nextCyclic(row, from)).toBe(cyclic);
              let common = sets.next(row, from);
              while (common >= 0 && common % 3 !== 0) common = sets.next(row, common + 1);
              expect(matrix.nextCommon(row, third, from)).toBe(common);
            }
            expect(matrix.next(row, columns)).toBe(-1);
          }
        },
      ),
    );
  });
});
