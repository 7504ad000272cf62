import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES, type Cause } from '../../record/causes.js';
import { explain } from '../../record/flight/explain.js';
import { flightText } from '../../record/flight/flight-text.js';
import { loggedFlight, type RunNames } from '../../record/flight/logged-flight.js';
import { runLogs } from '../../record/flight/run-logs.js';
import type { LoggedRequest, RunRows } from '../../record/flight/run-rows.js';
import type { RunResult } from '../../record/results.js';
import { causesText } from '../../report/hurt-text.js';
import { loadResults } from '../../report/load.js';
import { toMs, toSeconds } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { writeOut } from '../../text/terminal.js';
import type { ExplainArgs } from '../commands/explain.js';
import { FILTERS, senderIndex, unknownModel } from '../request-filters.js';

/** `escapement explain DIR`: why requests of a run failed, one by one. */
export function run(args: ExplainArgs): void {
  const { dir, request, json } = args;
  const loaded = loadResults(dir);
  if (loaded.kind !== 'run') {
    const what = 'holds a sweep, which keeps no logs; simulate one of its cells with --out';
    throw new EscapementError('E_RESULTS', what, { file: dir });
  }
  const { run } = loaded;
  const logs = runLogs(dir, run.setup);
  if (request !== undefined) {
    const filter = FILTERS.find((name) => args[name] !== undefined);
    if (filter !== undefined) {
      throw new EscapementError('E_USAGE', `--request and --${filter} cannot be combined`);
    }
    writeOut(story(run, logs, request, json));
    return;
  }
  const list = failedList(run, logs, wantedOf(run, args), args.limit);
  writeOut(json ? `${JSON.stringify(list)}\n` : listText(dir, list));
}

/** What is listed; undefined: all. Models, classes and tenants by index. */
interface Wanted {
  readonly model: number | undefined;
  readonly requestClass: number | undefined;
  readonly tenant: number | undefined;
  readonly cause: Cause | undefined;
}

function wantedOf(run: RunResult, { model, class: requestClass, tenant, cause }: ExplainArgs): Wanted {
  const { classes, tenants } = namesOf(run);
  return {
    model: modelOf(run, model),
    requestClass: senderIndex('class', classes, requestClass),
    tenant: senderIndex('tenant', tenants, tenant),
    cause,
  };
}

function story(run: RunResult, logs: RunRows, request: number, json: boolean): string {
  const found = loggedFlight(logs, request, namesOf(run));
  if (found === null) {
    throw new EscapementError('E_USAGE', `--request ${request}: the run has no such request`);
  }
  const { flight, cause } = found;
  if (json) return `${JSON.stringify({ ...flight, cause, why: explain(flight) })}\n`;
  const named = cause === null ? '' : `cause: ${CAUSE_LABELS[cause]}, ${CAUSE_MEANINGS[cause]}\n`;
  return `${flightText(flight)}${named}`;
}

interface FailedList {
  /** Requests that failed, by cause. */
  readonly failures: Readonly<Record<Cause, number>>;
  readonly requests: readonly {
    readonly request: number;
    readonly model: string;
    /** Absent: the run has none. */
    readonly class?: string;
    readonly tenant?: string;
    readonly cause: Cause;
    readonly arrivalNs: number;
    readonly latencyNs: number;
    readonly sloNs: number;
  }[];
}

function failedList(run: RunResult, logs: RunRows, wanted: Wanted, limit: number): FailedList {
  const failures = Object.fromEntries(CAUSES.map((cause) => [cause, 0])) as Record<Cause, number>;
  const first: (LoggedRequest & { readonly cause: Cause })[] = [];
  const warmupNs = Math.round(run.series.beginSeconds * NS_PER_S);
  logs.requests((request) => {
    const { cause } = request;
    if (cause === null || request.arrivalNs < warmupNs || !isWanted(request, wanted)) return;
    failures[cause]++;
    if (first.length < limit) first.push({ ...request, cause });
  });
  const names = namesOf(run);
  const requests = first.map((one) => ({
    request: one.id,
    model: names.model(one.model),
    ...(one.requestClass === undefined ? {} : { class: names.classes[one.requestClass]! }),
    ...(one.tenant === undefined ? {} : { tenant: names.tenants[one.tenant]! }),
    cause: one.cause,
    arrivalNs: one.arrivalNs,
    latencyNs: one.answeredNs - one.arrivalNs,
    sloNs: one.sloNs,
  }));
  return { failures, requests };
}

function isWanted({ model, requestClass, tenant, cause }: LoggedRequest, wanted: Wanted): boolean {
  return (
    cause === (wanted.cause ?? cause) &&
    model === (wanted.model ?? model) &&
    requestClass === (wanted.requestClass ?? requestClass) &&
    tenant === (wanted.tenant ?? tenant)
  );
}

function listText(dir: string, { failures, requests }: FailedList): string {
  const total = CAUSES.reduce((sum, cause) => sum + failures[cause], 0);
  if (total === 0) return 'no matching request failed\n';
  const optional = (['class', 'tenant'] as const).filter((name) => requests[0]?.[name] !== undefined);
  const rows = requests.map(({ request, model, cause, arrivalNs, latencyNs, sloNs, ...sender }) => [
    request,
    model,
    ...optional.map((name) => sender[name]!),
    CAUSE_LABELS[cause],
    toSeconds(arrivalNs),
    toMs(latencyNs),
    toMs(sloNs),
  ]);
  const more =
    total > requests.length ? `and ${total - requests.length} more; a higher --limit shows them\n` : '';
  return `${causesText(failures)}\n\n${table([
    ['request', 'model', ...optional, 'cause', 'arrival s', 'latency ms', 'SLO ms'],
    ...rows,
  ])}${more}
To explain one: escapement explain ${dir} --request ${requests[0]!.request}
`;
}

function modelOf({ models }: RunResult, name: string | undefined): number | undefined {
  if (name === undefined) return undefined;
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found.id;
  throw unknownModel(
    name,
    models.map((model) => model.name),
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
