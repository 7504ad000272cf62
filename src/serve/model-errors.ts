import { normalize, resolve, sep } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { nearest } from '../base/nearest.js';
import { PATH_BEGINS, withoutFolders } from '../base/printable.js';
import { ServiceError } from '../live/service.js';
import type { Deployed } from './model-table.js';

/** Converts a model's problem to an error with a code. */
export function coded(error: unknown): EscapementError {
  if (error instanceof EscapementError) return error;
  return new EscapementError('E_MODEL_FILE', (error as Error).message);
}

/** Limits on the models that an error names, and on the characters of each reason. */
const MOST_NAMED = 5;
const LONGEST_REASON = 300;

/** One error for all models, for the last line of a server that ends. `problems`: one per model, at least one. */
export function noneServed(problems: readonly EscapementError[]): EscapementError {
  const [first] = problems;
  if (problems.length === 1) return first;
  // Problems of the device are the same for all models.
  const all = [...new Set(problems.map(({ message }) => message.replace(/\.$/, '')))];
  const reasons = all
    .slice(0, MOST_NAMED)
    .map((reason) => (reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason));
  const others = all.length > MOST_NAMED ? `; and ${all.length - MOST_NAMED} more reasons` : '';
  const what = `none of the ${problems.length} models can be served: ${reasons.join('; ')}${others}`;
  return new EscapementError(first.code, what);
}

/** `away`: absent workers that may have it. */
export function unknown(name: string, away: readonly string[]): ServiceError {
  const rest = away.length === 0 ? '' : `; these workers are absent: ${away.join(', ')}`;
  return new ServiceError(
    'unknown',
    `Request for unknown model: ${JSON.stringify(name)} is not found${rest}`,
  );
}

export function gone(name: string): ServiceError {
  return new ServiceError(
    'failed',
    `the files of model ${JSON.stringify(name)} are gone from the repository: put them back, or unload it`,
  );
}

/** Text after the reason of a failed load: the versions still served; '' if none is. */
export function whatIsServed(before: readonly Deployed[], after: readonly Deployed[]): string {
  const ready = after.filter(({ status }) => status === 'ready');
  const had = new Set(before.filter(({ status }) => status === 'ready').map(({ handle }) => handle));
  const kept = ready.some(({ handle }) => had.has(handle));
  const came = ready
    .filter(({ handle }) => !had.has(handle))
    .map(({ version }) => `version ${version} is served`);
  return [...(kept ? ['the model loaded before stays in service'] : []), ...came]
    .map((part) => `; ${part}`)
    .join('');
}

/** Error for a model name mistyped on the command line, so that it shows before clients notice. */
export function noSuchModel(name: string, known: readonly string[]): EscapementError {
  const meant = nearest(name, known);
  const hint =
    meant === undefined
      ? 'put it there, or leave it out and let clients load it later'
      : `did you mean ${meant}?`;
  return new EscapementError(
    'E_MODEL_FILE',
    `--load-model ${name}: the repository has no such model; ${hint}`,
  );
}

/**
 * Reason of a failure, for clients: files of repositories by their path in them, with line and key if known; of other
 * files only the name. The log has whole paths. Without a full stop, since more may follow.
 */
export function clientReason({ message }: Error, repositories: readonly string[]): string {
  const folders = [...new Set(repositories.flatMap((dir) => [resolve(dir), normalize(dir)]))].map((folder) =>
    folder.endsWith(sep) ? folder : folder + sep,
  );
  const prefixes = folders.filter((folder) => folder !== `.${sep}`).map(escaped);
  const begins = new RegExp(`${PATH_BEGINS}(?:${prefixes.join('|')})`, 'g');
  const inside = prefixes.length === 0 ? message : message.replaceAll(begins, '');
  return withoutFolders(inside).replace(/\.$/, '');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
