import { ratioOf } from '../../record/counted.js';
import type { BoundFigures, ScheduledRun } from '../../record/results.js';
import { formatRate } from '../../text/numbers.js';
import type { Setup } from '../share/address.js';
import { DEFAULT_SETUP } from './default-setup.js';
import { withDefaults } from './policy-choice.js';
import { shareText } from './share-text.js';

/** One step of the guided minute: the simulation, what to look for, and the result. */
interface TourStep {
  readonly title: string;
  readonly before: string;
  readonly setup: Setup;
  /** Text with figures of the completed runs. */
  after(runs: readonly ScheduledRun[]): string;
}

const DEFAULT = 'policy.scheduleAhead=10ms';
const SHORT = 'policy.scheduleAhead=5ms';
const AUTO = 'policy.scheduleAhead=auto';
const ESCAPEMENT = withDefaults('escapement');

export const TOUR: readonly TourStep[] = [
  {
    title: 'A tight SLO',
    before:
      '600 requests/s arrive for 15 models on one GPU, and each wants its answer within 10 ms. Clockwork books the GPU 10 ms ahead, its default: watch requests wait behind work that was booked before they came.',
    setup: withLanes([DEFAULT]),
    after: ([run]) =>
      `It served ${rate(run)} of ${offered(run)} requests/s in time (${share(run)}). The GPU was busy, with work that came too late.`,
  },
  {
    title: 'Book less far ahead',
    before: 'The same arrivals next to it, with the GPU booked for 5 ms instead of 10 ms.',
    setup: withLanes([DEFAULT, SHORT]),
    after: ([before, now]) =>
      `One number changed: ${rate(now)} requests/s instead of ${rate(before)}, ${times(now, before)} as many.`,
  },
  {
    title: 'Let it tune itself',
    before:
      'The best value is not known in advance. With auto, B measures how far ahead it has to plan while it runs.',
    setup: withLanes([SHORT, AUTO]),
    after: ([fixed, auto]) => `auto served ${rate(auto)} requests/s; the fixed 5 ms ${rate(fixed)}.`,
  },
  {
    title: 'A newer policy',
    before: 'B is escapement, this project’s own policy, with its defaults.',
    setup: withLanes([AUTO, ESCAPEMENT]),
    after: ([auto, own]) => `escapement served ${rate(own)} requests/s; clockwork with auto ${rate(auto)}.`,
  },
  {
    title: 'The limit',
    before:
      'The dotted line of the goodput chart is a proven bound: even a scheduler that knows all requests in advance stays below it.',
    setup: withLanes([DEFAULT, ESCAPEMENT]),
    after: ([before, own]) =>
      `The default served ${rate(before)}, escapement ${rate(own)}. Now it is your turn: move the load, the SLO or the policy.`,
  },
];

/** Sentence about the bound, appended to the last step. */
export function boundSentence({ bestRps, offeredRps }: BoundFigures, runs: readonly ScheduledRun[]): string {
  const best = Math.max(...runs.map(({ summary }) => summary.goodputRps ?? 0));
  return `The bound is ${formatRate(bestRps)} of ${formatRate(offeredRps)} requests/s offered: the best run here reaches ${shareText(ratioOf(best, bestRps ?? 0))} of it.`;
}

function withLanes(policies: readonly string[]): Setup {
  return { ...DEFAULT_SETUP, lanes: policies.map((override) => [override]) };
}

function rate(run: ScheduledRun | undefined): string {
  return formatRate(run?.summary.goodputRps ?? null);
}

function offered(run: ScheduledRun | undefined): string {
  return formatRate(run?.summary.offeredRps ?? null);
}

function share(run: ScheduledRun | undefined): string {
  return shareText(run?.summary.attainment ?? null);
}

function times(now: ScheduledRun | undefined, before: ScheduledRun | undefined): string {
  return `${((now?.summary.goodputRps ?? 0) / (before?.summary.goodputRps ?? 1)).toFixed(1)} times`;
}
