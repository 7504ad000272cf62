import * as z from 'zod';
import { refuse, section, textField, textOrTexts } from './fields.js';
import { expandValues, show } from './units-text.js';

const LIST_OR_TEXT = { type: ['string', 'number', 'boolean', 'array'] };

const values = textField(
  LIST_OR_TEXT,
  'Values: a range such as 1ms:20ms:1ms (end included), a list such as 10ms,25ms, or a YAML list.',
  readValues,
  textOrTexts,
);

const overrides = z
  .record(z.string(), z.unknown())
  .describe('What this case sets: dotted keys, each with its value or a whole section.');

export const sweepSchema = section({
  cases: z
    .record(z.string(), z.record(z.string(), overrides))
    .prefault({})
    .describe(
      'Axes of named cases, e.g. setting; each case lists the keys that it sets, which are applied before vary.',
    ),
  vary: z
    .record(z.string(), values)
    .prefault({})
    .describe('Dotted keys, e.g. policy.scheduleAhead, each with its values.'),
  seeds: textField(
    LIST_OR_TEXT,
    'Each combination runs once with each seed; default: the seed of the file.',
    readSeeds,
    textOrTexts,
  ).exactOptional(),
  bound: z
    .boolean()
    .default(false)
    .describe(
      'Also compute upper bounds on the goodput of any scheduler, once for all policies of a workload.',
    ),
});

function readValues(texts: string | readonly string[]): readonly string[] {
  return [...new Set([texts].flat().flatMap(expandValues))];
}

function readSeeds(texts: string | readonly string[]): readonly number[] {
  const seeds = readValues(texts).map(Number);
  if (seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0)) return seeds;
  return refuse(`must be whole numbers such as 1,2,3 or 1:5:1, found ${show(texts)}`);
}
