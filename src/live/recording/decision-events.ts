import { NS_PER_MS } from '../../base/units.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import type { TimelineEvent } from '../../record/timeline-events.js';
import { DECISIONS, GAP_NS, slice, span } from '../../record/timeline-events.js';
import { REQUEST, type Recording, STEP } from './recording.js';

/** Colours in chrome://tracing, by outcome; Perfetto colours by name. */
const COLOURS = ['good', 'bad', 'terrible', 'yellow', 'black', 'grey'];

/** Steps of the controller in sequence. */
export function* stepEvents({ steps }: Recording): Generator<TimelineEvent> {
  for (let row = 0; row < steps.count; row++) {
    const beginNs = steps.get(row, STEP.begin);
    const endNs = beginNs + steps.get(row, STEP.took) - GAP_NS;
    yield slice(DECISIONS, 'step', 'decision', beginNs, endNs, {
      arrived: steps.get(row, STEP.arrived),
      results: steps.get(row, STEP.results),
      answered: steps.get(row, STEP.answered),
      sent: steps.get(row, STEP.sent),
    });
  }
}

/** Requests from arrival to answer; they overlap. */
export function* requestEvents(
  { requests, traces }: Recording,
  models: readonly string[],
): Generator<TimelineEvent> {
  for (let row = 0; row < requests.count; row++) {
    const outcome = requests.get(row, REQUEST.outcome);
    const action = requests.get(row, REQUEST.action);
    const id = requests.get(row, REQUEST.id);
    const traceparent = traces.get(id);
    const args = {
      model: models[requests.get(row, REQUEST.model)],
      outcome: OUTCOME_NAMES[outcome],
      sloMs: requests.get(row, REQUEST.slo) / NS_PER_MS,
      cold: requests.get(row, REQUEST.copies) === 0,
      ...(action < 0 ? {} : { action }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    yield* span(
      DECISIONS,
      `request ${OUTCOME_NAMES[outcome]}`,
      'request',
      id,
      requests.get(row, REQUEST.arrival),
      requests.get(row, REQUEST.answered),
      { cname: COLOURS[outcome], args },
    );
  }
}
