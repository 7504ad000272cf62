import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { EscapementError } from '../errors.js';
import { inputPath } from './input-path.js';

/** Results of a command, in the folder that its `--out` named. */
interface ResultsFile {
  readonly kind: 'sweep' | 'run';
  readonly file: string;
  readonly value: object;
}

/** Part of a zod schema. */
interface Schema<T> {
  safeParse(value: unknown): {
    readonly data?: T | undefined;
    readonly error?: { readonly issues: readonly { readonly path: readonly PropertyKey[] }[] } | undefined;
  };
}

const PLAN = 'plan.json';
const FOR_JOURNALS = "for a server's journal there is escapement replay";

/**
 * Reads the results in `dir`: results.json of a sweep, else run.json. Throws `E_RESULTS` if there is neither, and for a
 * file that cannot be read, holds no results, or is of another version.
 */
export function readResults(dir: string, version: number): ResultsFile {
  for (const [kind, name] of [['sweep', 'results.json'] as const, ['run', 'run.json'] as const]) {
    const file = join(dir, name);
    const text = textOf(file);
    if (text !== null) return { kind, file, value: resultsOf(text, file, version) };
  }
  throw problem(whyNothing(dir), dir);
}

/** Reads the results of a single run. Throws `E_RESULTS` also for those of a sweep. */
export function readRun(dir: string, version: number): ResultsFile {
  const found = readResults(dir, version);
  if (found.kind === 'run') return found;
  throw problem('holds a sweep, which keeps no logs; simulate one of its cells with --out', dir);
}

/** The value as its schema describes it. Throws `E_RESULTS`. */
export function conforming<T>({ file, value }: ResultsFile, schema: Schema<T>): T {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  const key = error?.issues[0]?.path.join('.');
  throw problem('is missing or invalid; run the experiment again', file, key);
}

/** Null if there is no such file. */
function textOf(file: string): string | null {
  try {
    return readFileSync(inputPath(file), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw problem(`cannot be read (${error instanceof Error ? error.message : error})`, file);
  }
}

function resultsOf(text: string, file: string, version: number): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw problem('is not valid JSON (perhaps truncated); run the experiment again', file);
  }
  if (typeof value !== 'object' || value === null || !('version' in value)) {
    throw problem('is not a results file; run the experiment again with --out', file);
  }
  if (value.version === version) return value;
  const what = `is of version ${JSON.stringify(value.version)}, but this program reads version ${version}; run the experiment again`;
  throw problem(what, file, 'version');
}

function whyNothing(dir: string): string {
  if (!existsSync(dir)) return 'folder does not exist; pass the --out folder of simulate or sweep';
  if (existsSync(join(dir, PLAN)) || basename(dir) === PLAN)
    return 'is a plan, which its plan.html shows; to compare answers of plans, simulate each with its flags and --out, and pass those folders';
  if (!statSync(dir).isDirectory())
    return `is a file; pass the --out folder of simulate or sweep; ${FOR_JOURNALS}`;
  if (existsSync(join(dir, 'cells')))
    return 'contains an unfinished sweep; run the same sweep again, and it continues where it stopped';
  return `contains neither results.json nor run.json; run simulate or sweep with this folder as --out first; ${FOR_JOURNALS}`;
}

function problem(what: string, file: string, key = ''): EscapementError {
  return new EscapementError('E_RESULTS', what, key === '' ? { file } : { file, key });
}
