import * as z from 'zod';
import { refuse, section, textField } from './fields.js';
import { show } from './units-text.js';

/** One of several controllers: which part of the cluster, of the models and of their requests it has. */
export const cellSchema = section({
  gpus: textField(
    { type: 'string', pattern: '^\\d+:\\d+$' },
    'GPUs of cluster.gpus that the cell has, from:to, counted from 0, without the last one, e.g. 8:16.',
    readRange,
  ),
  models: z.array(z.string()).min(1).describe('Names of the models that the cell has.'),
  requests: z
    .record(
      z.string(),
      textField(
        { type: 'array', items: { type: 'number', minimum: 0, maximum: 1 }, minItems: 2, maxItems: 2 },
        'Slice [from, to] of its requests.',
        readSlice,
      ),
    )
    .prefault({})
    .describe(
      'Models that other cells have, too: the slice of their requests that this cell gets, e.g. [0, 0.5]. Default: all.',
    ),
});

function readRange(value: unknown): readonly [number, number] {
  const match = /^(\d+):(\d+)$/.exec(String(value));
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || to <= from) refuse(`must be GPUs from:to such as 8:16, found ${show(value)}`);
  return [from, to];
}

function readSlice(value: unknown): readonly [number, number] {
  const [from, to, ...more] = Array.isArray(value) ? value : [];
  const right = typeof from === 'number' && typeof to === 'number' && more.length === 0;
  if (!right || from < 0 || to > 1 || from >= to)
    return refuse(`must be a slice [from, to] within 0 and 1, found ${show(value)}`);
  return [from, to];
}
