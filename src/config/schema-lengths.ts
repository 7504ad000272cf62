import * as z from 'zod';
import { section } from './fields.js';

/** As much as the request table holds. */
const MOST_LENGTH = 2 ** 31 - 1;

const inputLength = (about: string) => z.int().min(1).max(MOST_LENGTH).describe(about);
const values = z
  .array(z.int().min(1).max(MOST_LENGTH))
  .min(1)
  .max(100_000)
  .describe('Lengths, each as likely as any other; repeat one to make it likelier.');
/** How long the inputs of a workload are. */
export const lengths = z
  .discriminatedUnion('kind', [
    section({ kind: z.literal('constant'), value: inputLength('Length of every input.') }),
    section({
      kind: z.literal('uniform'),
      from: inputLength('Shortest length.').default(1),
      to: inputLength('Longest length; all between are equally likely.'),
    }),
    section({
      kind: z.literal('lognormal'),
      median: inputLength('Half of the inputs are longer.'),
      sigma: z.number().min(0).max(10).describe('Standard deviation of the logarithm of the length.'),
      max: inputLength('Longer ones count as this long.'),
    }),
    section({ kind: z.literal('list'), values }),
    section({
      kind: z.literal('tokens'),
      of: z
        .enum(['context', 'generated', 'both'])
        .default('context')
        .describe('Token column of an azure-llm trace that is the length; both: the sum.'),
      max: inputLength('Longer ones count as this long.').exactOptional(),
    }),
    section({
      kind: z.literal('column'),
      max: inputLength('Longer ones count as this long.').exactOptional(),
    }),
  ])
  .describe(
    'Length (tokens, pixels) of each input, for models that take several. A length column of an arrivals file comes before it; column stands for that column.',
  );
