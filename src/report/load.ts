import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../core/errors.js';
import type { RunResult, SweepResults } from '../metrics/results.js';

export type LoadedResults =
  | { readonly kind: 'run'; readonly run: RunResult }
  | { readonly kind: 'sweep'; readonly results: SweepResults };

/** Version of `run.json` and `results.json` that this program reads. */
const VERSION = 1;

/**
 * Reads what `sweep --out DIR` or `simulate --out DIR` left: `results.json`, else `run.json`.
 * Throws `E_RESULTS` if there is neither, or if it is broken, incomplete or of another version.
 */
export function loadResults(dir: string): LoadedResults {
  if (!existsSync(dir)) {
    throw new EscapementError(
      'E_RESULTS',
      'folder does not exist; give the --out folder of a simulate or sweep',
      {
        file: dir,
      },
    );
  }
  const sweep = join(dir, 'results.json');
  if (existsSync(sweep)) {
    return {
      kind: 'sweep',
      results: read<SweepResults>(sweep, ['name', 'vary', 'defaults', 'seeds', 'cells']),
    };
  }
  const run = join(dir, 'run.json');
  if (existsSync(run)) {
    return { kind: 'run', run: read<RunResult>(run, ['summary', 'series', 'latencyCdf', 'timeline']) };
  }
  throw new EscapementError(
    'E_RESULTS',
    'holds neither results.json nor run.json; run simulate or sweep with --out into this folder first',
    { file: dir },
  );
}

function read<T>(file: string, keys: readonly (keyof T & string)[]): T {
  const value = parse(file);
  if (typeof value !== 'object' || value === null || !('version' in value)) {
    throw new EscapementError('E_RESULTS', 'is not a results file; run the experiment again with --out', {
      file,
    });
  }
  if (value.version !== VERSION) {
    const what = `is of version ${JSON.stringify(value.version)}, this program reads ${VERSION}; run the experiment again`;
    throw new EscapementError('E_RESULTS', what, { file, key: 'version' });
  }
  const missing = keys.find((key) => !(key in value));
  if (missing !== undefined) {
    throw new EscapementError('E_RESULTS', 'is missing; run the experiment again', { file, key: missing });
  }
  return value as T;
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EscapementError('E_RESULTS', `cannot be read (${reason})`, { file });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new EscapementError('E_RESULTS', 'is not valid JSON, perhaps cut short; run the experiment again', {
      file,
    });
  }
}
