import { EscapementError } from '../../base/errors.js';
import { checkWritable } from '../../base/files/output-file.js';
import { stream } from '../../base/random/streams.js';
import { parseRate } from '../../config/units-text.js';
import { writeOut } from '../../text/terminal.js';
import { generateAzureLike } from '../../workload/azure-like/generate.js';
import { writeAzure2019 } from '../../workload/trace-write.js';
import type { TraceGenerateArgs } from '../commands/trace-generate.js';

/** `escapement trace generate OUT`: a synthetic day like that of Azure Functions 2019. */
export async function run(args: TraceGenerateArgs): Promise<void> {
  const seed = args.seed;
  const shape = {
    functions: args.functions,
    minutes: args.minutes,
    rateRps: rateRps(args.rate),
  };
  if (!args.json) writeOut(`seed ${seed}\n`);
  checkWritable(args.out);
  const counts = generateAzureLike(shape, stream(seed, 'trace'));
  await writeAzure2019(args.out, counts, seed);
  writeOut(
    args.json
      ? `${JSON.stringify({ path: args.out, seed, ...shape })}\n`
      : `${shape.functions} functions, ${shape.minutes} minutes written to ${args.out}\n`,
  );
}

function rateRps(text: string): number {
  try {
    const rate = parseRate(text);
    if (rate > 0) return rate;
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
  }
  throw new EscapementError('E_USAGE', `--rate ${text}: must be a rate above 0 such as 100/s`);
}
