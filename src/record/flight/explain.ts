import { NS_PER_US } from '../../base/units.js';
import { toMs, toSeconds } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import { CAUSE_MEANINGS } from '../causes.js';
import type { Flight, FlightAction, FlightResult, Knowledge, KnownGpu } from './flight.js';

/** Shorter times are not worth a line. */
const TINY_NS = 50 * NS_PER_US;
/** Largest number of GPUs in trouble named one by one. */
const MOST_TROUBLES = 3;

/** Explains in sentences why a request ended as it did, as far as possible without looking at the other requests. */
export function explain(flight: Flight): string[] {
  return [...storyOf(flight), ...(flight.answer?.outcome === 'ok' ? [] : troublesOf(flight))];
}

function storyOf(flight: Flight): string[] {
  const { answer, deadlineNs } = flight;
  if (answer === null) return ['the journal ends before it was answered'];
  switch (answer.outcome) {
    case 'ok':
      return [`answered ${ms(deadlineNs - answer.atNs)} before its deadline`];
    case 'late':
      return [`answered ${ms(answer.atNs - deadlineNs)} after its deadline`, ...courseOf(flight)];
    case 'timeout':
      return timeout(flight, answer.atNs);
    case 'rejected':
      return refused(flight, answer.atNs);
    case 'cancelled':
      return ['its client left before it was executed', ...waitOf(flight, answer.atNs)];
    default:
      return [failure(flight), ...waitOf(flight, sentNs(flight))];
  }
}

export function ms(ns: number): string {
  return `${toMs(ns)} ms`;
}

/** Time as an offset from the request's arrival. */
export function at(flight: Flight, ns: number): string {
  const afterNs = ns - flight.arrivalNs;
  return afterNs < 0 ? ms(afterNs).replace('-', '−') : `+${ms(afterNs)}`;
}

/** Time from arrival (first byte) until the scheduler received the request at `takenNs`; null if negligible. */
export function decodingText({ arrivalNs }: Flight, takenNs: number): string | null {
  const tookNs = takenNs - arrivalNs;
  if (tookNs <= TINY_NS) return null;
  return `${ms(tookNs)} passed until the scheduler had it, while its body was received and decoded`;
}

/** Breakdown of the latency of an executed request. */
function courseOf(flight: Flight): string[] {
  const infer = lastInfer(flight);
  const lines = waitOf(flight, sentNs(flight));
  if (infer === undefined || infer.result === null) return lines;
  const { beginNs, endNs, handledNs } = infer.result;
  const tookNs = endNs - beginNs;
  const plannedEndNs = infer.expectedStartNs + infer.expectedDurationNs;
  const add = (ns: number, text: string) => {
    if (ns > TINY_NS) lines.push(text);
  };
  const overNs = plannedEndNs - flight.deadlineNs;
  const planned = `when it was sent, its INFER was already planned to end ${ms(overNs)} after the deadline`;
  add(overNs, [planned, ...patientMates(flight, infer)].join('; '));
  const behindNs = beginNs - infer.expectedStartNs;
  add(behindNs, `INFER began ${ms(behindNs)} later than expected`);
  const longerNs = tookNs - infer.expectedDurationNs;
  const instead = `${ms(tookNs)} instead of ${ms(infer.expectedDurationNs)}`;
  add(longerNs, `INFER took ${ms(longerNs)} longer than predicted: ${instead}`);
  add(handledNs - endNs, `its result reached the controller ${ms(handledNs - endNs)} after INFER had ended`);
  return lines;
}

/** Note on a batch whose requests have different deadlines: it may have been planned for the later ones. */
function patientMates(flight: Flight, { lastDeadlineNs }: FlightAction): string[] {
  if (lastDeadlineNs === null || lastDeadlineNs - flight.deadlineNs <= TINY_NS) return [];
  return [`its batch has requests with deadlines up to ${at(flight, lastDeadlineNs)}`];
}

/** Reasons why no action took the request before `untilNs`. */
function waitOf(flight: Flight, untilNs: number): string[] {
  const known = flight.known[0];
  const lines: string[] = [];
  const decoding = decodingText(flight, known.atNs);
  if (decoding !== null) lines.push(decoding);
  const lost = flight.actions.filter((action) => action.result?.status === 'worker_lost');
  for (const { kind, id, gpu } of lost) lines.push(`${kind} ${id} was lost with the worker of GPU ${gpu}`);
  const waitedNs = untilNs - known.atNs;
  const reasons = reasonsToWait(flight, known, untilNs);
  if (waitedNs > TINY_NS) lines.push([`waited ${ms(waitedNs)} in the queue`, ...reasons].join('; '));
  else if (flight.answer?.outcome === 'rejected') lines.push(...reasons);
  return lines;
}

function reasonsToWait(flight: Flight, known: Knowledge, untilNs: number): string[] {
  const warm = known.gpus.filter((gpu) => gpu.warm);
  const reasons = warm.length > 0 ? [bookedUntil(flight, warm)] : coldReasons(flight, known, untilNs);
  if (known.queued > 0) reasons.push(`${plural(known.queued, 'earlier request')} for the model waited`);
  if (flight.passedBy > 0)
    reasons.push(`${plural(flight.passedBy, 'INFER')} of other models went first on its GPUs`);
  return reasons;
}

function troublesOf({ troubles = [] }: Flight): string[] {
  if (troubles.length > MOST_TROUBLES) return [`${troubles.length} GPUs were gone or slow`];
  return troubles.map(({ gpu, fromNs, untilNs, times }) => {
    const what = times === null ? `GPU ${gpu} was gone` : `INFERs on GPU ${gpu} took ${times} times as long`;
    return `${what} from ${toSeconds(fromNs)} s ${untilNs === null ? 'on' : `to ${toSeconds(untilNs)} s`}`;
  });
}

function bookedUntil(flight: Flight, warm: readonly KnownGpu[]): string {
  const freeNs = ({ execFreeNs }: KnownGpu) => execFreeNs ?? Number.POSITIVE_INFINITY;
  const first = warm.reduce((best, gpu) => (freeNs(gpu) < freeNs(best) ? gpu : best));
  if (first.execFreeNs === null) return `GPU ${first.gpu}, which held its model, was draining`;
  const until = `EXEC of GPU ${first.gpu} was booked until ${at(flight, freeNs(first))}`;
  const others = warm.filter((gpu) => gpu !== first);
  if (others.length === 0) return until;
  return others.length === 1
    ? `${until}, that of GPU ${others[0].gpu} for longer`
    : `${until}, those of the other ${others.length} GPUs for longer`;
}

function coldReasons(flight: Flight, known: Knowledge, untilNs: number): string[] {
  if (known.weightsFreeNs === null) return ['no GPU was connected'];
  const cold = known.gpus.length > 0 ? 'its model was still being loaded' : 'no GPU held its model';
  const loads = flight.actions.filter(({ kind }) => kind === 'LOAD');
  if (loads.length === 0) {
    return [`${cold}`, `no LOAD was sent; WEIGHTS was booked until ${at(flight, known.weightsFreeNs)}`];
  }
  return [cold, ...loads.map((load) => loadFate(flight, load, untilNs))];
}

function loadFate(flight: Flight, load: FlightAction, untilNs: number): string {
  const what = `LOAD ${load.id} on GPU ${load.gpu}`;
  const { result } = load;
  if (result === null || result.handledNs > untilNs) {
    return `${what}, sent at ${at(flight, load.sentNs)}, had not ended`;
  }
  if (result.status !== 'ok') return `${what} failed: ${words(result)}`;
  return `${what} ran from ${at(flight, result.beginNs)} to ${at(flight, result.endNs)}`;
}

/** A failed INFER is the reason, even if the request was queued again; otherwise it is the wait. */
function timeout(flight: Flight, atNs: number): string[] {
  const leftNs = flight.deadlineNs - atNs;
  const before = leftNs > TINY_NS ? `, ${ms(leftNs)} before the deadline (its policy waits no longer)` : '';
  const givenUp = `given up at ${at(flight, atNs)}${before}`;
  const infer = lastInfer(flight);
  if (infer === undefined || infer.result === null) {
    return [`${givenUp}, because no action had taken it`, ...waitOf(flight, atNs)];
  }
  const again = `${givenUp}, ${ms(atNs - infer.result.handledNs)} after that result, because no other action had taken it`;
  const end =
    atNs > infer.result.handledNs ? [again] : [`${givenUp}, because no time was left for another action`];
  return [failure(flight), ...waitOf(flight, infer.sentNs), ...end];
}

function refused(flight: Flight, atNs: number): string[] {
  const { limit, tenant } = flight;
  const { atNs: takenNs, predictedNs } = flight.known[0];
  const infer = lastInfer(flight);
  // A tenant's limits are checked before its model is looked up.
  if (limit !== undefined)
    return [
      `${CAUSE_MEANINGS[limit === 'rate' ? 'overRate' : 'overShare'].replace('its tenant', tenant!)}; the scheduler did not see the request`,
    ];
  // Logs contain neither the time of admission nor an INFER that failed earlier.
  if (infer === undefined && predictedNs === undefined && atNs - takenNs > TINY_NS) {
    const late = 'it came late to the controller, or was queued again after its INFER had failed';
    return [
      `refused ${ms(atNs - takenNs)} after it arrived: ${late}, and an answer in time was not expected`,
    ];
  }
  return [refusal(flight), ...waitOf(flight, infer?.sentNs ?? takenNs)];
}

function refusal(flight: Flight): string {
  const { sloNs, known } = flight;
  const { predictedNs, weightsFreeNs } = known[0];
  if (lastInfer(flight) !== undefined) return `refused when it was queued again: ${failure(flight)}`;
  if (predictedNs === undefined) return 'refused on arrival: an answer in time was not expected';
  if (predictedNs === null) {
    return weightsFreeNs === null ? 'refused: no GPU was connected' : 'refused by the policy';
  }
  const expected = `an answer was expected after ${ms(predictedNs)}`;
  if (predictedNs > sloNs) return `refused: ${expected}, but the SLO is ${ms(sloNs)}`;
  const spare = `${ms(sloNs - predictedNs)} before the end of its SLO of ${ms(sloNs)}`;
  return `refused by the policy: ${expected}, only ${spare}, and the policy keeps a longer margin`;
}

function failure(flight: Flight): string {
  const infer = lastInfer(flight);
  if (infer === undefined || infer.result === null) return 'failed before an action took it';
  const what = `INFER ${infer.id} on GPU ${infer.gpu} failed: ${words(infer.result)}`;
  const { latestNs, result } = infer;
  if (result.status !== 'too_late' || latestNs === null) return what;
  return `${what}; it had to start by ${at(flight, latestNs)}, but its turn came at ${at(flight, result.beginNs)}`;
}

function lastInfer(flight: Flight): FlightAction | undefined {
  return flight.actions.findLast(({ kind }) => kind === 'INFER');
}

function sentNs(flight: Flight): number {
  return lastInfer(flight)?.sentNs ?? flight.arrivalNs;
}

function words({ status }: FlightResult): string {
  return status.replaceAll('_', ' ');
}
