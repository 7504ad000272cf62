import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type * as z from 'zod';
import { EscapementError } from '../base/errors.js';
import { inputPath } from '../base/files/input-path.js';
import type { RunResult, SweepResults } from '../record/results.js';
import { RESULTS_VERSION } from '../record/results-version.js';
import { runResultSchema, sweepResultsSchema } from '../record/schema.js';

export type LoadedResults =
  | { readonly kind: 'run'; readonly run: RunResult }
  | { readonly kind: 'sweep'; readonly results: SweepResults };

/**
 * Reads the output of `sweep --out DIR` or `simulate --out DIR`: `results.json`, else `run.json`. Throws `E_RESULTS` if
 * there is neither, or if it is broken, incomplete or of another version.
 */
export function loadResults(dir: string): LoadedResults {
  const sweep = join(dir, 'results.json');
  if (existsSync(sweep)) {
    return { kind: 'sweep', results: read<SweepResults>(sweep, sweepResultsSchema) };
  }
  const run = join(dir, 'run.json');
  if (existsSync(run)) return { kind: 'run', run: read<RunResult>(run, runResultSchema) };
  throw problem(whyNothing(dir), dir);
}

const FOR_JOURNALS = "for a server's journal there is escapement replay";

function whyNothing(dir: string): string {
  if (!existsSync(dir)) return 'folder does not exist; pass the --out folder of simulate or sweep';
  if (!statSync(dir).isDirectory())
    return `is a file; pass the --out folder of simulate or sweep; ${FOR_JOURNALS}`;
  if (existsSync(join(dir, 'plan.json'))) {
    return 'contains a plan, which its plan.html shows; pass the --out folder of simulate or sweep';
  }
  if (existsSync(join(dir, 'cells'))) {
    return 'contains an unfinished sweep; run the same sweep again, and it continues where it stopped';
  }
  return `contains neither results.json nor run.json; run simulate or sweep with this folder as --out first; ${FOR_JOURNALS}`;
}

function read<T>(file: string, schema: z.ZodType): T {
  const value = parse(file);
  if (typeof value !== 'object' || value === null || !('version' in value)) {
    throw problem('is not a results file; run the experiment again with --out', file);
  }
  if (value.version !== RESULTS_VERSION) {
    const what = `is of version ${JSON.stringify(value.version)}, but this program reads version ${RESULTS_VERSION}; run the experiment again`;
    throw problem(what, file, 'version');
  }
  const { data, error } = schema.safeParse(value);
  if (error !== undefined) {
    const [issue] = error.issues;
    throw problem('is missing or invalid; run the experiment again', file, issue?.path.join('.'));
  }
  return data as T;
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(inputPath(file), 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw problem(`cannot be read (${reason})`, file);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw problem('is not valid JSON (perhaps truncated); run the experiment again', file);
  }
}

function problem(what: string, file: string, key = ''): EscapementError {
  return new EscapementError('E_RESULTS', what, key === '' ? { file } : { file, key });
}
