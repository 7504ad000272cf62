import { nearest } from '../base/nearest.js';
import { CAUSE_LABELS, CAUSES, type Cause } from '../record/causes.js';
import { toMs, toSeconds } from '../text/numbers.js';
import { table } from '../text/table.js';
import { choice, text, usageError, whole } from './options.js';

/** Flags that select failed requests. */
export const FILTERS = ['model', 'class', 'tenant', 'cause'] as const;

/** Options of commands that list failed requests, or explain one. */
export function filterOptions(what: string, request: string) {
  return {
    request: { ...whole(0)(`Explain one request: ${request}`), conflicts: [...FILTERS] },
    model: text(`List ${what} of this model only`),
    class: text(`List ${what} of this class only`),
    tenant: text(`List ${what} of this tenant only`),
    cause: choice(CAUSES)('List requests that failed for this cause only'),
    limit: whole(1).or(20, 'Maximum number of requests to list'),
  };
}

type Filters = Readonly<Partial<Record<(typeof FILTERS)[number], string | undefined>>>;

/** First filter that was given; undefined if none. */
export function filterOf(args: Filters): string | undefined {
  return FILTERS.find((name) => args[name] !== undefined);
}

/** Throws `E_USAGE` for a filter by a name that the run does not have. */
export function refuseUnknown(
  flag: 'model' | 'class' | 'tenant',
  { [flag]: given }: Filters,
  names: readonly string[],
): void {
  if (given === undefined || names.includes(given)) return;
  const meant = nearest(given, names);
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  const none = flag === 'class' ? 'no classes' : 'no tenants';
  const what =
    flag === 'model'
      ? 'no model of that name had requests in this run'
      : `the run has ${names.length === 0 ? none : `no such ${flag}`}`;
  throw usageError(`--${flag} ${given}: ${what}${hint}`);
}

/** A failed request in a list. */
export interface FailedRequest {
  readonly request: number;
  readonly model: string;
  /** Absent if the run has none. */
  readonly class?: string | undefined;
  readonly tenant?: string | undefined;
  readonly cause: Cause;
  readonly arrivalNs: number;
  readonly latencyNs: number;
  readonly sloNs: number;
}

/** Failed requests as a table, the number of those left out, and the `command` that explains one. */
export function failedText<Request extends FailedRequest>(
  requests: readonly Request[],
  { total, command, note = '' }: { readonly total: number; readonly command: string; readonly note?: string },
  columns: Readonly<Record<string, (request: Request) => number>> = {},
): string {
  const senders = (['class', 'tenant'] as const).filter((name) => requests[0]![name] !== undefined);
  const rows = requests.map((one) => [
    ...[one.request, one.model, ...senders.map((name) => one[name]!), CAUSE_LABELS[one.cause]],
    ...[toSeconds(one.arrivalNs), ...Object.values(columns).map((text) => text(one))],
    ...[toMs(one.latencyNs), toMs(one.sloNs)],
  ]);
  const names = ['request', 'model', ...senders, 'cause', 'arrival s', ...Object.keys(columns)];
  const rest = total - requests.length;
  const more = rest > 0 ? `and ${rest} more; a higher --limit shows them\n` : '';
  const hint = `To explain one: ${command} --request ${requests[0]!.request}\n`;
  return `${table([[...names, 'latency ms', 'SLO ms'], ...rows])}${more}${note}${hint}`;
}
