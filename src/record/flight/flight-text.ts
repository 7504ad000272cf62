import { toSeconds } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import { at, explain, ms } from './explain.js';
import type { Flight, FlightAction, Knowledge } from './flight.js';

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
