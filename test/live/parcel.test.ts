import { describe, expect, it } from 'vitest';
import { areApart, buffersOf, copied, OpenParcel, Parcel } from '../../src/live/parcel.js';

describe('a parcel', () => {
  it('gives back what was put in, in the same order, after it crossed to another thread', () => {
    const body = Uint8Array.from({ length: 60_000 }, (_, i) => i);
    const tensors = [
      Uint8Array.of(1, 2, 3),
      body.subarray(100, 30_100),
      new Uint8Array(0),
      body.subarray(30_100),
      Float64Array.of(0.5).buffer,
    ].map((tensor) => (tensor instanceof ArrayBuffer ? new Uint8Array(tensor) : tensor));
    const expected = tensors.map((tensor) => [...tensor]);
    const parcel = new Parcel();
    parcel.addNumber(Number.POSITIVE_INFINITY);
    for (const tensor of tensors) parcel.add(tensor, true);
    parcel.addNumber(-0.5);
    const { contents, transfer } = parcel.seal();
    const open = new OpenParcel(structuredClone(contents, { transfer }));
    expect(open.takeNumber()).toBe(Number.POSITIVE_INFINITY);
    const got = tensors.map(() => open.take());
    expect(open.isEmpty).toBe(false);
    expect(open.takeNumber()).toBe(-0.5);
    expect(open.isEmpty).toBe(true);
    expect(got.map((tensor) => [...tensor])).toEqual(expected);
    for (const { byteOffset, length } of got.filter(({ length }) => length < 100)) {
      expect(byteOffset % 8, `${length} bytes`).toBe(0);
    }
    expect(tensors[1].length).toBe(0);
  });

  it('leaves large tensors alone that must not move', () => {
    const shared = new Uint8Array(50_000).fill(7);
    const parcel = new Parcel();
    parcel.add(shared.subarray(0, 25_000), false);
    parcel.add(shared.subarray(25_000), false);
    const { contents, transfer } = parcel.seal();
    structuredClone(contents, { transfer });
    expect(shared.length).toBe(50_000);
    expect(contents.large).toHaveLength(2);
  });

  it('can be used again', () => {
    const parcel = new Parcel();
    parcel.add(new Uint8Array(20_000), true);
    parcel.add(Uint8Array.of(1), true);
    parcel.seal();
    parcel.add(Uint8Array.of(9), true);
    const { contents, transfer } = parcel.seal();
    expect(contents.large).toEqual([]);
    expect(transfer).toEqual([]);
    expect([...new OpenParcel(contents).take()]).toEqual([9]);
  });

  it.each([0, 1, 7, 8, 4095, 4096, 16_384])(
    'keeps every byte of small tensors: %i bytes, four times',
    (size) => {
      const tensors = [0, 1, 2, 3].map((k) => Uint8Array.from({ length: size }, (_, i) => 255 - i * (k + 1)));
      const parcel = new Parcel();
      for (const tensor of tensors) parcel.add(tensor, false);
      const { contents, transfer } = parcel.seal();
      // With its numbers, the last is more than a text may have.
      expect(typeof contents.bytes).toBe(size < 16_384 ? 'string' : 'object');
      const open = new OpenParcel(structuredClone(contents, { transfer }));
      for (const tensor of tensors) {
        const got = open.take();
        expect(got).toEqual(tensor);
        expect(got.byteOffset % 8).toBe(0);
      }
    },
  );
});

it('only tensors of more than 16 KiB are apart, and only in a batch', () => {
  expect(areApart([{ bytes: 16_384 }, { bytes: 16_385 }], 2)).toBe(true);
  expect(areApart([{ bytes: 16_385 }], 1)).toBe(false);
  expect(areApart([{ bytes: 16_384 }], 8)).toBe(false);
});

describe('tensors for another thread', () => {
  it('are copied into one buffer, aligned', () => {
    const whole = new Uint8Array([1, 2, 3]);
    const copies = copied([whole, whole.subarray(1), new Uint8Array(0), Buffer.from('abc')]);
    expect(copies.map((bytes) => [...bytes])).toEqual([[1, 2, 3], [2, 3], [], [97, 98, 99]]);
    expect(new Set(copies.map(({ buffer }) => buffer)).size).toBe(1);
    expect(copies.every(({ buffer, byteOffset }) => buffer !== whole.buffer && byteOffset % 8 === 0)).toBe(
      true,
    );
  });

  it('are handed over once each', () => {
    const [shared, other] = [new Uint8Array(4), new Uint8Array(4)];
    expect(buffersOf([[shared, other], [shared], [new Uint8Array(0)], []])).toEqual([
      shared.buffer,
      other.buffer,
    ]);
  });
});
