import { NS_PER_S } from '../../base/units.js';
import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES, type Cause } from '../../record/causes.js';
import { explain, flightText } from '../../record/flight/explain.js';
import type { LoggedRequest, RunRows } from '../../record/flight/flight.js';
import { loggedFlight, type RunNames } from '../../record/flight/logged-flight.js';
import { runLogs } from '../../record/flight/run-logs.js';
import type { RunResult } from '../../record/results.js';
import { causesText } from '../../report/generator.js';
import { json, print } from '../common-options.js';
import { group, required, text, usageError, type ValuesOf } from '../options.js';
import { type FailedRequest, FILTERS, failedText, filterOptions, refuseUnknown } from '../request-filters.js';

export const flags = {
  dir: required(text('--out folder of simulate or run; for a journal there is replay')),
  ...group('Options', {
    ...filterOptions('failed requests', 'what was known, planned and done, and why it failed'),
    json,
  }),
};
export const examples = [
  'explain out/azure-run',
  'explain out/azure-run --model vgg13-1 --cause timedOutCold',
  'explain out/tenants --tenant flood --cause overShare',
  'explain out/azure-run --request 4463',
];

type Args = ValuesOf<typeof flags>;

/** `escapement explain DIR`: why requests of a run failed, one by one. */
export async function handler(args: Args): Promise<void> {
  const { loadRun } = await import('../../report/load.js');
  const { dir, request } = args;
  const run = loadRun(dir);
  const logs = runLogs(dir, run);
  const names = namesOf(run);
  if (request !== undefined) {
    const { pipelineFlight, pipelineText } = await import('../../record/flight/pipeline-flight.js');
    const flight = pipelineFlight(logs, request, run.setup ?? {}, names);
    if (flight === null) return printStory(logs, names, request, args);
    return print(args, flight, () => pipelineText(flight));
  }
  const { model, pipeline = [] } = run.summary.by;
  const models = [...model, ...pipeline].map(({ key }) => key);
  refuseUnknown('model', args, models);
  refuseUnknown('class', args, names.classes);
  refuseUnknown('tenant', args, names.tenants);
  const list = failedList(logs, names, args, Math.round(run.windows[0].beginSeconds * NS_PER_S));
  print(args, list, () => listText(dir, list));
}

function printStory(logs: RunRows, names: RunNames, request: number, args: Args): void {
  const found = loggedFlight(logs, request, names);
  if (found === null) throw usageError(`--request ${request}: the run has no such request`);
  const { flight, cause } = found;
  const named = cause === null ? '' : `cause: ${CAUSE_LABELS[cause]}, ${CAUSE_MEANINGS[cause]}\n`;
  print(args, { ...flight, cause, why: explain(flight) }, () => `${flightText(flight)}${named}`);
}

interface FailedList {
  /** Requests that failed, by cause. */
  readonly failures: Readonly<Record<Cause, number>>;
  readonly requests: readonly FailedRequest[];
}

/** Selected requests that failed after the warm-up. */
function failedList(logs: RunRows, names: RunNames, args: Args, warmupNs: number): FailedList {
  const failures = Object.fromEntries(CAUSES.map((cause) => [cause, 0])) as Record<Cause, number>;
  const requests: FailedRequest[] = [];
  logs.requests((request) => {
    const cause = CAUSES[request.cause];
    // The request of a pipeline stands for those of its steps.
    if (cause === undefined || request.parent >= 0 || request.arrivalNs < warmupNs) return;
    const failed = named(request, cause, names);
    const isWanted = FILTERS.every((name) => args[name] === undefined || args[name] === failed[name]);
    if (!isWanted) return;
    failures[cause]++;
    if (requests.length < args.limit) requests.push(failed);
  });
  return { failures, requests };
}

function named(request: LoggedRequest, cause: Cause, names: RunNames): FailedRequest {
  const { id, model, requestClass = -1, tenant = -1, arrivalNs, answeredNs, sloNs } = request;
  return {
    request: id,
    model: names.model(model),
    ...(requestClass >= 0 ? { class: names.classes[requestClass]! } : {}),
    ...(tenant >= 0 ? { tenant: names.tenants[tenant]! } : {}),
    ...{ cause, arrivalNs, latencyNs: answeredNs - arrivalNs, sloNs },
  };
}

function listText(dir: string, { failures, requests }: FailedList): string {
  const total = CAUSES.reduce((sum, cause) => sum + failures[cause], 0);
  if (total === 0) return 'no matching request failed\n';
  const options = { total, command: `escapement explain ${dir}`, note: '\n' };
  return `${causesText(failures)}\n\n${failedText(requests, options)}`;
}

function namesOf({ summary: { by }, setup }: RunResult): RunNames {
  const models = setup?.modelPages?.length ?? 0;
  const pipelines = (by.pipeline ?? []).map(({ key }, i) => [models + i, key] as const);
  const byId = new Map([...by.model.map(({ id, key }) => [id, key] as const), ...pipelines]);
  return {
    model: (model) => byId.get(model) ?? `model ${model}`,
    classes: (by.class ?? []).map(({ key }) => key),
    tenants: (by.tenant ?? []).map(({ key }) => key),
  };
}
