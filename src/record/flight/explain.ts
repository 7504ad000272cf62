import { NS_PER_US } from '../../base/units.js';
import { toMs, toSeconds } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import { CAUSE_MEANINGS } from '../causes.js';
import type { Flight, FlightAction, FlightAnswer } from './flight.js';

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
export function at({ arrivalNs }: Pick<Flight, 'arrivalNs'>, ns: number): string {
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
  const { arrivalNs, passedBy, known } = flight;
  const [{ atNs: takenNs, queued, gpus, weightsFreeNs }] = known;
  const waitedNs = (lastInfer(flight)?.sentNs ?? atNs) - takenNs;
  const parts = [
    waitedNs > TINY_NS && `waited ${ms(waitedNs)} in the queue`,
    weightsFreeNs === null && 'no GPU was connected',
    weightsFreeNs !== null && gpus.length === 0 && 'no GPU held its model',
    gpus.length > 0 && !gpus.some(({ warm }) => warm) && 'its model was still being loaded',
    queued > 0 && `${plural(queued, 'earlier request')} for the model waited`,
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
