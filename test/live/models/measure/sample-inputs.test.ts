import { expect, it } from 'vitest';
import { stream } from '../../../../src/base/random/streams.js';
import type { Datatype } from '../../../../src/live/model.js';
import { usualInputs } from '../../../../src/live/models/measure/sample-inputs.js';
import { textsOf, textsProblem } from '../../../../src/live/texts.js';

function draw(datatype: Datatype, elements: number, bytes: number) {
  const input = { name: 'x', datatype, shape: [elements], bytes };
  return usualInputs()({ inputs: [input], outputs: [], batched: false }, 2, stream(1, 'inputs'))[0];
}

it('floats are drawn from −1 to 1, whole numbers are 0 unless they are so few that they may be steps or sizes', () => {
  const floats = new Float32Array(draw('FP32', 100, 400).buffer);
  expect(floats).toHaveLength(200);
  expect(Math.min(...floats)).toBeGreaterThanOrEqual(-1);
  expect(Math.max(...floats)).toBeLessThanOrEqual(1);
  expect(new Set(floats).size).toBeGreaterThan(150);
  expect(draw('INT64', 9, 72)).toEqual(new Uint8Array(144));
  expect([...new BigInt64Array(draw('INT64', 2, 16).buffer)]).toEqual([1n, 1n, 1n, 1n]);
});

it('texts can be read as numbers, too: a model that parses them must be measurable', () => {
  const texts = draw('BYTES', 3, 12);
  expect(textsProblem(texts, 6)).toBe('');
  expect(textsOf(texts)).toEqual(['0', '0', '0', '0', '0', '0']);
});
