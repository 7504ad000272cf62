import { OUTCOME_CANCELLED, OUTCOME_LATE, OUTCOME_NAMES, type Outcome } from '../../core/request.js';
import { toSeconds } from '../../text/numbers.js';
import { CAUSE_MEANINGS, CAUSES, type Cause } from '../causes.js';
import type { RunSetup } from '../results.js';
import { explain, ms, storyText } from './explain.js';
import type { LoggedRequest, RunRows } from './flight.js';
import { loggedFlight, type RunNames } from './logged-flight.js';

/** One request of a pipeline, with the requests of its steps. Times in ns since the start of the run. */
export interface PipelineFlight {
  readonly request: number;
  readonly pipeline: string;
  readonly arrivalNs: number;
  readonly sloNs: number;
  /** Null: the journal ends before. */
  readonly answer: { readonly outcome: string; readonly atNs: number } | null;
  /** Requests of its steps, in order of arrival. */
  readonly steps: readonly {
    readonly step: string;
    /** The variant that was chosen. */
    readonly model?: string;
    readonly request: number;
    /** Its last INFER; −1: none. */
    readonly infer: number;
    readonly arrivalNs: number;
    readonly deadlineNs: number;
    readonly answer: { readonly outcome: string; readonly atNs: number } | null;
  }[];
  /** Null if it was answered within its SLO. */
  readonly cause: Cause | null;
  readonly why: readonly string[];
}

/** Reconstructs one request of a pipeline; null if there is no such request. Throws `E_RESULTS`. */
export function pipelineFlight(
  logs: RunRows,
  request: number,
  { pipelines = [], modelPages = [] }: Pick<RunSetup, 'pipelines' | 'modelPages'>,
  names: RunNames,
): PipelineFlight | null {
  let found: LoggedRequest | null = null;
  const rows: LoggedRequest[] = [];
  logs.requests((row) => {
    if (row.id === request && row.model >= modelPages.length) found = row;
    else if (row.parent === request) rows.push(row);
  });
  if (found === null) return null;
  const own: LoggedRequest = found;
  const all = pipelines.flatMap(({ steps }) => steps);
  const ids = all.map(({ id }) => id);
  const steps = rows
    .sort((a, b) => a.arrivalNs - b.arrivalNs || a.id - b.id)
    .map((row) => ({
      ...{ step: ids[row.step]!, request: row.id, infer: row.action, arrivalNs: row.arrivalNs },
      ...(all[row.step]!.variants === undefined ? {} : { model: names.model(row.model) }),
      deadlineNs: row.arrivalNs + row.sloNs,
      answer: answerOf(row),
    }));
  // Once one has failed, the others are withdrawn.
  const failed = rows.find(
    ({ step, outcome }) => step === own.step && outcome > OUTCOME_LATE && outcome !== OUTCOME_CANCELLED,
  );
  const logged = failed && loggedFlight(logs, failed.id, names)?.flight;
  const { arrivalNs, sloNs } = own;
  const facts = {
    request,
    pipeline: names.model(own.model),
    arrivalNs,
    sloNs,
    answer: answerOf(own),
    steps,
    cause: CAUSES[own.cause] ?? null,
  };
  const step = ids[own.step];
  return { ...facts, why: whyEnded(facts, step, failed?.id, logged && explain(logged)) };
}

/** Events of the request, in order, with times in texts from its arrival. */
export function pipelineEvents({
  arrivalNs,
  sloNs,
  answer,
  steps,
}: PipelineFlight): { readonly atNs: number; readonly text: string }[] {
  const events = [
    { atNs: arrivalNs, text: `arrived ${toSeconds(arrivalNs)} s into the run, SLO ${ms(sloNs)}` },
    ...steps.flatMap((each) => {
      const of = `request ${each.request}${each.model === undefined ? '' : ` for ${each.model}`}`;
      const by = `to end by +${ms(each.deadlineNs - arrivalNs)}`;
      return [
        { atNs: each.arrivalNs, text: `${each.step} began: ${of}, ${by}` },
        ...(each.answer === null
          ? []
          : [
              {
                atNs: each.answer.atNs,
                text: `${each.step} ended: request ${each.request}, ${each.answer.outcome}`,
              },
            ]),
      ];
    }),
    ...(answer === null ? [] : [{ atNs: answer.atNs, text: `answered: ${answer.outcome}` }]),
  ];
  return events.toSorted((a, b) => a.atNs - b.atNs);
}

/** Timeline of the request for people, with times from its arrival. */
export function pipelineText(flight: PipelineFlight): string {
  const { request, pipeline, arrivalNs, why } = flight;
  return storyText(`request ${request} for pipeline ${pipeline}`, { arrivalNs }, pipelineEvents(flight), why);
}

function answerOf({ outcome, answeredNs }: LoggedRequest) {
  return { outcome: OUTCOME_NAMES[outcome as Outcome], atNs: answeredNs };
}

/** Why a request ended as it did. `step`: the one that failed, with the request of it that did, and why. */
export function whyEnded(
  { arrivalNs, sloNs, answer, cause }: Omit<PipelineFlight, 'why'>,
  step: string | undefined,
  failed: number | undefined,
  because: readonly string[] = [],
): string[] {
  if (answer === null) return ['the journal ends before it was answered'];
  const leftNs = arrivalNs + sloNs - answer.atNs;
  if (answer.outcome === 'ok') return [`its last step ended ${ms(leftNs)} before its deadline`];
  if (answer.outcome === 'late') return [`its last step ended ${ms(-leftNs)} after its deadline`];
  if (failed !== undefined) return [`request ${failed} of ${step} failed`, ...because];
  if (step === undefined) return ['its client went before it was answered'];
  const meaning = cause === null ? '' : `: ${CAUSE_MEANINGS[cause]}`;
  return [`${step} did not begin, with ${ms(leftNs)} left until the deadline${meaning}`];
}
