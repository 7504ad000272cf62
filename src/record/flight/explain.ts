import { NS_PER_US } from '../../base/units.js';
import { toMs, toSeconds } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import { CAUSE_MEANINGS } from '../causes.js';
import type { Flight, FlightAction, FlightAnswer, Knowledge } from './flight.js';

/** Shorter times are not worth a line. */
const TINY_NS = 50 * NS_PER_US;
/** Largest number of GPUs in trouble named one by one. */
const MOST_TROUBLES = 3;

const ENDS: Readonly<Record<string, string>> = {
  ok: 'answered',
  late: 'answered',
  timeout: 'given up',
  rejected: 'refused',
  cancelled: 'withdrawn',
};

/**
 * Says why a request ended as it did, as far as possible without looking at the other requests: when it ended, and, unless
 * it was in time, each delay and failure on its way.
 */
export function explain(flight: Flight): string[] {
  const { answer, deadlineNs, limit, tenant } = flight;
  if (answer === null) return ['the journal ends before it was answered'];
  // A tenant's limits are checked before its model is looked up.
  if (limit !== undefined)
    return [CAUSE_MEANINGS[limit === 'rate' ? 'overRate' : 'overShare'].replace('its tenant', tenant!)];
  const leftNs = deadlineNs - answer.atNs;
  const side = leftNs < 0 ? 'after' : 'before';
  const end = `${ENDS[answer.outcome] ?? 'failed'} ${ms(Math.abs(leftNs))} ${side} its deadline`;
  return answer.outcome === 'ok'
    ? [end]
    : [
        end,
        ...refusalOf(flight, answer),
        ...waitOf(flight, answer),
        ...failuresOf(flight),
        ...delaysOf(flight),
        ...troublesOf(flight),
      ];
}

export function ms(ns: number): string {
  return `${toMs(ns)} ms`;
}

/** Time as an offset from the request's arrival. */
function at({ arrivalNs }: Pick<Flight, 'arrivalNs'>, ns: number): string {
  const afterNs = ns - arrivalNs;
  return afterNs < 0 ? ms(afterNs).replace('-', '−') : `+${ms(afterNs)}`;
}

/** The forecast at admission, of a request that was refused then. */
function refusalOf({ sloNs, known: [{ predictedNs }] }: Flight, { outcome }: FlightAnswer): string[] {
  if (outcome !== 'rejected' || predictedNs == null) return [];
  return [`an answer was expected after ${ms(predictedNs)}, and its SLO is ${ms(sloNs)}`];
}

/** Time until the scheduler had the request, and time in its queue until its last INFER was sent. */
function waitOf(flight: Flight, { atNs }: FlightAnswer): string[] {
  const { arrivalNs, passedBy, overtakenBy, known } = flight;
  const [{ atNs: takenNs, queued, gpus, weightsFreeNs }] = known;
  const waitedNs = (lastInfer(flight)?.sentNs ?? atNs) - takenNs;
  const parts = [
    waitedNs > TINY_NS && `waited ${ms(waitedNs)} in the queue`,
    weightsFreeNs === null && 'no GPU was connected',
    weightsFreeNs !== null && gpus.length === 0 && 'no GPU held its model',
    gpus.length > 0 && !gpus.some(({ warm }) => warm) && 'its model was still being loaded',
    queued > 0 && `${plural(queued, 'earlier request')} for the model waited`,
    overtakenBy > 0 && `${plural(overtakenBy, 'later request')} for it went first`,
    passedBy > 0 && `${plural(passedBy, 'INFER')} of other models went first on its GPUs`,
  ];
  const wait = parts.filter((part) => part !== false).join('; ');
  return [
    takenNs - arrivalNs > TINY_NS &&
      `${ms(takenNs - arrivalNs)} passed until the scheduler had it, while its body was received and decoded`,
    wait,
  ].filter((line) => line !== false && line !== '') as string[];
}

/** Its INFERs and LOADs that failed. */
function failuresOf({ actions }: Flight): string[] {
  return actions.flatMap(({ kind, id, gpu, result }) =>
    result === null || result.status === 'ok'
      ? []
      : `${kind} ${id} on GPU ${gpu} failed: ${result.status.replaceAll('_', ' ')}`,
  );
}

/** Parts of the latency of an executed request that were longer than planned. */
function delaysOf(flight: Flight): string[] {
  const infer = lastInfer(flight);
  if (infer === undefined || infer.result?.status !== 'ok') return [];
  const { expectedStartNs, expectedDurationNs } = infer;
  const { beginNs, endNs, handledNs } = infer.result;
  const took = `${ms(endNs - beginNs)} instead of ${ms(expectedDurationNs)}`;
  const lastNs = infer.lastDeadlineNs ?? 0;
  const mates =
    lastNs - flight.deadlineNs > TINY_NS
      ? `; its batch has requests with deadlines up to ${at(flight, lastNs)}`
      : '';
  const delays: readonly (readonly [number, (ns: string) => string])[] = [
    [
      expectedStartNs + expectedDurationNs - flight.deadlineNs,
      (over) => `when it was sent, its INFER was already planned to end ${over} after the deadline${mates}`,
    ],
    [beginNs - expectedStartNs, (later) => `INFER began ${later} later than expected`],
    [endNs - beginNs - expectedDurationNs, (longer) => `INFER took ${longer} longer than predicted: ${took}`],
    [handledNs - endNs, (after) => `its result reached the controller ${after} after INFER had ended`],
  ];
  return delays.flatMap(([ns, text]) => (ns > TINY_NS ? text(ms(ns)) : []));
}

function troublesOf({ troubles = [] }: Flight): string[] {
  if (troubles.length > MOST_TROUBLES) return [`${troubles.length} GPUs were gone or slow`];
  return troubles.map(({ gpu, fromNs, untilNs, times }) => {
    const what = times === null ? `GPU ${gpu} was gone` : `INFERs on GPU ${gpu} took ${times} times as long`;
    return `${what} from ${toSeconds(fromNs)} s ${untilNs === null ? 'on' : `to ${toSeconds(untilNs)} s`}`;
  });
}

function lastInfer({ actions }: Flight): FlightAction | undefined {
  return actions.findLast(({ kind }) => kind === 'INFER');
}

/** Largest number of GPUs listed one by one. */
const MOST_GPUS = 8;

/** Timeline of one request for people, with times from its arrival, and why it ended as it did. */
export function flightText(flight: Flight): string {
  const { request, model, user, trace, class: itsClass, tenant, length } = flight;
  const facts = Object.entries({ user, class: itsClass, tenant, length, trace })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${value}`);
  return storyText(
    `request ${request} for ${model}, ${facts.join(', ')}`,
    flight,
    flightEvents(flight),
    explain(flight),
  );
}

/** Events of a request, in any order, under a heading, and why it ended as it did. */
export function storyText(
  heading: string,
  request: Pick<Flight, 'arrivalNs'>,
  events: readonly FlightEvent[],
  why: readonly string[],
): string {
  const lines = events
    .toSorted((a, b) => a.atNs - b.atNs)
    .map(({ atNs, text }) => `${at(request, atNs).padStart(14)}  ${text}`);
  return `${[heading, ...lines, 'why', ...why.map((line) => `  ${line}`)].join('\n')}\n`;
}

/** One event of a request, in words. */
interface FlightEvent {
  /** Time since the start of the run. */
  readonly atNs: number;
  readonly text: string;
}

/** Events of a request, in order; times in the texts count from its arrival. */
export function flightEvents(flight: Flight): FlightEvent[] {
  const { arrivalNs, sloNs, limit, answer } = flight;
  // The scheduler never sees a request that a limit refuses: it is not queued, and nothing is predicted.
  const known = limit === undefined ? flight.known : [];
  const events: (readonly [number, string])[] = [
    [arrivalNs, `arrived ${toSeconds(arrivalNs)} s into the run, SLO ${ms(sloNs)}`],
    ...known.map((each, again) => [each.atNs, takenIn(flight, each, again > 0)] as const),
    ...flight.actions.flatMap((action) => actionEvents(flight, action)),
  ];
  if (answer !== null) events.push([answer.atNs, `answered: ${answer.outcome}`]);
  return events.toSorted(([a], [b]) => a - b).map(([atNs, text]) => ({ atNs, text }));
}

function takenIn(flight: Flight, known: Knowledge, again: boolean): string {
  const parts = [`${again ? 'queued again' : 'queued'} behind ${known.queued}`];
  if (known.predictedNs != null) parts.push(`an answer expected after ${ms(known.predictedNs)}`);
  if (known.gpus.length === 0) parts.push(noGpu(flight, known));
  for (const { gpu, warm, execFreeNs, weightsFreeNs } of known.gpus.slice(0, MOST_GPUS)) {
    const freeNs = warm ? execFreeNs : weightsFreeNs;
    const lane = warm ? 'warm, EXEC' : 'loading, WEIGHTS';
    parts.push(`GPU ${gpu} ${lane} ${freeNs === null ? 'closed' : `booked until ${at(flight, freeNs)}`}`);
  }
  if (known.gpus.length > MOST_GPUS) parts.push(`${known.gpus.length - MOST_GPUS} more GPUs hold the model`);
  return parts.join('; ');
}

function noGpu(flight: Flight, { weightsFreeNs }: Knowledge): string {
  if (weightsFreeNs === null) return 'no GPU was connected';
  return `no GPU held the model, WEIGHTS booked until ${at(flight, weightsFreeNs)}`;
}

function actionEvents(flight: Flight, action: FlightAction): (readonly [number, string])[] {
  const { kind, id, gpu, gpuKind, sentNs, latestNs, result } = action;
  const name = `${kind} ${id}`;
  const batch = kind === 'LOAD' ? '' : `, batch ${action.batchSize} with ${plural(action.count, 'request')}`;
  const latest = latestNs === null ? 'any time' : at(flight, latestNs);
  const plan =
    `may start from ${at(flight, action.earliestNs)} to ${latest}, ` +
    `expected at ${at(flight, action.expectedStartNs)} for ${ms(action.expectedDurationNs)}`;
  const sent = [
    sentNs,
    `${name} sent to GPU ${gpu}${gpuKind === undefined ? '' : ` (${gpuKind})`}${batch}: ${plan}`,
  ] as const;
  if (result === null) return [sent];
  const { status, beginNs, endNs, handledNs } = result;
  if (status !== 'ok') return [sent, [handledNs, `${name} failed: ${status.replaceAll('_', ' ')}`]];
  return [
    sent,
    [beginNs, `${name} began`],
    [endNs, `${name} ended after ${ms(endNs - beginNs)}; its result came at ${at(flight, handledNs)}`],
  ];
}
