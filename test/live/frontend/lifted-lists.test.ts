import { describe, expect, it } from 'vitest';
import { LiftedLists, NotPlain } from '../../../src/live/frontend/lifted-lists.js';
import { freshBytes } from '../../../src/live/frontend/paged-bytes.js';

const ID = `"id":"${'x'.repeat(2100)}"`;

function lift(inner: string, before = ''): LiftedLists | null {
  const text = Buffer.from(`{${ID},${inner}}`);
  return LiftedLists.of(Buffer.concat([Buffer.from(before), text]).subarray(before.length), text.length);
}

const floats = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

describe('lists that are taken out of a text', () => {
  it('leave their numbers behind, and give their elements in that order', () => {
    const lists = lift(
      '"inputs":[{"data":[1,2]},{"name":"data","data" : [[3],\n[4]],"shape":[2,1]}]',
      '12345',
    );
    expect(Buffer.from(lists?.rest ?? []).toString()).toBe(
      `{${ID},"inputs":[{"data":0 },{"name":"data","data" : 1 ,"shape":[2,1]}]}`,
    );
    expect(lists?.areTaken).toBe(false);
    expect(lists?.bytesOf('x', 'FP32', [2], 0)).toEqual(floats(1, 2));
    expect(lists?.bytesOf('y', 'FP32', [2, 1], 1)).toEqual(floats(3, 4));
    expect(lists?.areTaken).toBe(true);
  });

  it('are given to nothing but what stood in their place', () => {
    const lists = lift('"inputs":[{"data":[1]},{"data":[2]}]');
    for (const data of [1, 2, '0', null, undefined, [0]])
      expect(() => lists?.bytesOf('x', 'FP32', [1], data)).toThrow(NotPlain);
    lists?.bytesOf('x', 'FP32', [1], 0);
    expect(() => lists?.bytesOf('x', 'FP32', [1], 0)).toThrow(NotPlain);
    lists?.bytesOf('x', 'FP32', [1], 1);
    expect(() => lists?.bytesOf('x', 'FP32', [1], 2)).toThrow(NotPlain);
  });

  it('are read out of a large body, which lies in pages of its own, one by one', () => {
    const values = [0, 1].map((list) => Array.from({ length: 30_000 }, (_, i) => (i * 7 + list) / 8));
    const text = Buffer.from(JSON.stringify({ inputs: values.map((data) => ({ data })) }));
    const body = freshBytes(text.length);
    text.copy(body);
    const lists = LiftedLists.of(body, body.length);
    const read = values.map((_, i) => lists?.bytesOf('x', 'FP32', [30_000], i) ?? new Uint8Array());
    expect(read.map((each, i) => Buffer.compare(each, floats(...values[i])))).toEqual([0, 0]);
  });

  it('do not become a part of what follows them', () => {
    for (const follows of ['e5', '.0', '7', '[1]'])
      expect(() => JSON.parse(Buffer.from(lift(`"data":[1]${follows}`)?.rest ?? []).toString())).toThrow(
        SyntaxError,
      );
  });

  it.each([
    ['a text that is short', null],
    ['other data', '"data":"abc"'],
    ['strings', '"data":["1","2"]'],
    ['a list of numbers and one of others', '"data":[1],"more":{"data":[true]}'],
    ['a list without an end', '"data":[[1],[2]'],
    ['a list that is nested deeply', `"data":${'['.repeat(20)}1${']'.repeat(20)}`],
    ['an escaped letter', '"data":[1],"d\\u0061ta":[2]'],
    ['no list', '"inputs":[]'],
  ])('are not taken out of %s', (_, inner) => {
    expect(inner === null ? LiftedLists.of(Buffer.from('{"data":[1]}'), 12) : lift(inner)).toBeNull();
  });
});
