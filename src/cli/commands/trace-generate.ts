import { checkWritable } from '../../base/files/output-file.js';
import { writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { generateAzureLike } from '../../workload/azure-like/generate.js';
import { json, print } from '../common-options.js';
import { group, rate, required, text, type ValuesOf, whole } from '../options.js';

export const flags = {
  out: required(text('File to write, .csv or .csv.gz')),
  ...group('Options', {
    functions: whole(1).or(300, 'Number of functions'),
    minutes: whole(1).or(120, 'Length of the trace in minutes'),
    rate: rate.or('100/s', 'Mean rate of all functions together'),
    seed: whole(0).or(1, 'Seed of every random draw'),
    json,
  }),
};
export const examples = ['trace generate trace.csv.gz --functions 300 --minutes 120'];

/** `escapement trace generate OUT`: a synthetic day like that of Azure Functions 2019. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { stream } = await import('../../base/random/streams.js');
  const { writeAzure2019 } = await import('../../workload/trace-write.js');
  const { seed, functions, minutes, rate: rateRps } = args;
  const shape = { functions, minutes, rateRps };
  if (!args.json) writeOut(`seed ${seed}\n`);
  checkWritable(args.out);
  const counts = generateAzureLike(shape, stream(seed, 'trace'));
  await writeAzure2019(args.out, counts, seed);
  const what = `${plural(functions, 'function')}, ${plural(minutes, 'minute')} written to ${args.out}\n`;
  print(args, { path: args.out, seed, ...shape }, () => what);
}
