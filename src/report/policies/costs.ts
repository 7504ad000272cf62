import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';

/** Cost of scheduling on a benchmark case. */
export interface PolicyCost {
  readonly case: string;
  readonly policy: string;
  /** Wall time of a whole run ÷ its requests. */
  readonly usPerRequest: number;
  /** Relative to `clockwork` on the same case. */
  readonly ratio: number;
}

const costSchema = z.object({
  case: z.string(),
  policy: z.string(),
  usPerRequest: z.number().nonnegative(),
  ratio: z.number().nonnegative(),
});

/** Reads the output of `npm run bench -- --policies --out FILE`, JSON lines. Throws `E_FILE_MISSING`, `E_RESULTS`. */
export function readCosts(file: string): PolicyCost[] {
  return textOf(file)
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [parseCost(line, file, i + 1)]));
}

function parseCost(text: string, file: string, line: number): PolicyCost {
  try {
    return costSchema.parse(JSON.parse(text));
  } catch {
    const what = 'is not the cost of a policy; pass the file written by npm run bench -- --policies --out';
    throw new EscapementError('E_RESULTS', what, { file, line });
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(inputPath(file), 'utf8');
  } catch {
    throw new EscapementError('E_FILE_MISSING', 'does not exist or cannot be read', { file });
  }
}
