import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import { nearest } from '../../config/nearest.js';
import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES, type Cause } from '../../record/causes.js';
import { explain } from '../../record/flight/explain.js';
import type { Flight, TenantLimit } from '../../record/flight/flight.js';
import { flightText } from '../../record/flight/flight-text.js';
import { loggedFlight, type RunNames } from '../../record/flight/logged-flight.js';
import { runLogs } from '../../record/flight/run-logs.js';
import type { LoggedRequest, RunRows } from '../../record/flight/run-rows.js';
import type { RunResult } from '../../record/results.js';
import { causesText } from '../../report/hurt-text.js';
import { loadResults } from '../../report/load.js';
import { formatCount, toMs, toSeconds } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import type { ExplainArgs } from '../usage/explain.js';

/** `escapement explain DIR`: why requests of a run failed, one by one. */
export function run({ dir, request, model, cause, limit, json }: ExplainArgs): void {
  const loaded = loadResults(dir);
  if (loaded.kind !== 'run') {
    const what = 'holds a sweep, which keeps no logs; simulate one of its cells with --out';
    throw new EscapementError('E_RESULTS', what, { file: dir });
  }
  const { run } = loaded;
  const logs = runLogs(dir, run.setup);
  if (request !== undefined) {
    const filter = model !== undefined ? '--model' : cause !== undefined ? '--cause' : null;
    if (filter !== null) throw new EscapementError('E_USAGE', `--request and ${filter} cannot be combined`);
    process.stdout.write(story(run, logs, request, json));
    return;
  }
  const wanted = { model: modelOf(run, model), cause: cause ?? null };
  const list = failedList(run, logs, wanted, limit);
  process.stdout.write(json ? `${JSON.stringify(list)}\n` : listText(dir, list));
}

function story(run: RunResult, logs: RunRows, request: number, json: boolean): string {
  const found = loggedFlight(logs, request, namesOf(run));
  if (found === null) {
    throw new EscapementError('E_USAGE', `--request ${request}: the run has no such request`);
  }
  const { flight, cause } = found;
  if (json) return `${JSON.stringify({ ...flight, cause, why: explain(flight) })}\n`;
  const named = cause === null ? '' : `cause: ${CAUSE_LABELS[cause]}, ${meaningOf(cause, flight)}\n`;
  return `${flightText(flight)}${named}`;
}

/** A limit says more than the cause. */
function meaningOf(cause: Cause, { limit }: Flight): string {
  if (limit === undefined) return CAUSE_MEANINGS[cause];
  return limit === 'rate' ? 'beyond the rate of its tenant' : 'beyond the fair share of its tenant';
}

interface FailedList {
  /** Requests that failed, by cause. */
  readonly failures: Readonly<Record<Cause, number>>;
  /** Of those refused, the ones beyond a limit of their tenant; absent: the run has no tenants. */
  readonly limited?: Readonly<Record<TenantLimit, number>>;
  readonly requests: readonly {
    readonly request: number;
    readonly model: string;
    /** Absent: the run has none. */
    readonly class?: string;
    readonly tenant?: string;
    readonly cause: Cause;
    /** Which limit of its tenant refused it; absent: none did. */
    readonly limit?: TenantLimit;
    readonly arrivalNs: number;
    readonly latencyNs: number;
    readonly sloNs: number;
  }[];
}

function failedList(
  run: RunResult,
  logs: RunRows,
  wanted: { readonly model: number | null; readonly cause: Cause | null },
  limit: number,
): FailedList {
  const failures = Object.fromEntries(CAUSES.map((cause) => [cause, 0])) as Record<Cause, number>;
  const limited = { rate: 0, share: 0 };
  const first: (LoggedRequest & { readonly cause: Cause })[] = [];
  const warmupNs = Math.round(run.series.beginSeconds * NS_PER_S);
  logs.requests((request) => {
    const { cause, arrivalNs, model } = request;
    if (cause === null || cause !== (wanted.cause ?? cause)) return;
    if (arrivalNs < warmupNs || model !== (wanted.model ?? model)) return;
    failures[cause]++;
    if (request.limit !== undefined) limited[request.limit]++;
    if (first.length < limit) first.push({ ...request, cause });
  });
  const names = namesOf(run);
  const requests = first.map((one) => ({
    request: one.id,
    model: names.model(one.model),
    ...(one.requestClass === undefined ? {} : { class: names.classes[one.requestClass]! }),
    ...(one.tenant === undefined ? {} : { tenant: names.tenants[one.tenant]! }),
    cause: one.cause,
    ...(one.limit === undefined ? {} : { limit: one.limit }),
    arrivalNs: one.arrivalNs,
    latencyNs: one.answeredNs - one.arrivalNs,
    sloNs: one.sloNs,
  }));
  return { failures, ...(names.tenants.length === 0 ? {} : { limited }), requests };
}

function listText(dir: string, { failures, limited, requests }: FailedList): string {
  const total = CAUSES.reduce((sum, cause) => sum + failures[cause], 0);
  if (total === 0) return 'no matching request failed\n';
  const optional = (['class', 'tenant'] as const).filter((name) => requests[0]?.[name] !== undefined);
  const rows = requests.map(({ request, model, cause, limit, arrivalNs, latencyNs, sloNs, ...sender }) => [
    request,
    model,
    ...optional.map((name) => sender[name]!),
    limit === undefined ? CAUSE_LABELS[cause] : `${CAUSE_LABELS[cause]}: ${limit}`,
    toSeconds(arrivalNs),
    toMs(latencyNs),
    toMs(sloNs),
  ]);
  const more =
    total > requests.length ? `and ${total - requests.length} more; a higher --limit shows them\n` : '';
  return `${causesText(failures)}\n${limitsText(failures.refused, limited)}\n${table([
    ['request', 'model', ...optional, 'cause', 'arrival s', 'latency ms', 'SLO ms'],
    ...rows,
  ])}${more}
To explain one: escapement explain ${dir} --request ${requests[0]!.request}
`;
}

/** Who refused requests: limits of tenants come before admission and policy. */
function limitsText(refused: number, limited: FailedList['limited']): string {
  if (limited === undefined || limited.rate + limited.share === 0) return '';
  const others = refused - limited.rate - limited.share;
  return `refused: ${formatCount(limited.rate)} beyond the rate of their tenant, ${formatCount(limited.share)} beyond its fair share, ${formatCount(others)} by admission or policy\n`;
}

function modelOf({ models }: RunResult, name: string | undefined): number | null {
  if (name === undefined) return null;
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found.id;
  const meant = nearest(
    name,
    models.map((model) => model.name),
  );
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  throw new EscapementError(
    'E_USAGE',
    `--model ${name}: no model of that name had requests in this run${hint}`,
  );
}

function namesOf(run: RunResult): RunNames {
  const { classes = [], tenants = [] } = run.summary;
  return {
    model: (model) => nameOf(run, model),
    classes: classes.map(({ name }) => name),
    tenants: tenants.map(({ name }) => name),
  };
}

function nameOf({ models }: RunResult, id: number): string {
  return models.find((model) => model.id === id)?.name ?? `model ${id}`;
}
