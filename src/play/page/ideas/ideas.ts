import type { ScheduledRun } from '../../../record/results.js';
import { formatCount, formatRate } from '../../../text/numbers.js';
import type { Setup } from '../../share/setup.js';
import { DEFAULT_SETUP } from '../default-setup.js';
import { effectiveTree, textAt } from '../effective.js';
import { type Knob, knob } from '../knobs.js';
import { shareText } from '../share-text.js';

/** One idea as a simulation with one thing to change. */
export interface Idea {
  readonly setup: Setup;
  /** How it begins, and begins again after a change: at the end of its run, or after so many steps. */
  readonly begins: 'at its end' | number;
  knob(setup: Setup): Knob;
  /** Figures of a run that is over, by name. */
  facts(run: ScheduledRun): Readonly<Record<string, string>>;
}

/** By the names that pages use. */
export const IDEAS: Readonly<Record<string, Idea>> = {
  windows: {
    setup: withText(`seed: 1
cluster: { gpus: 1, network: { delay: 500us }, noise: { exec: 10% } }
models: { kind: profile, path: $PROFILE, copies: 3 }
workload: { kind: poisson, rate: 250/s, duration: 2s }
slo: 40ms
policy: { kind: clockwork, scheduleAhead: 5ms, maxBatch: 4 }
admission: none
`),
    begins: 60,
    knob: choice('Network', 'One-way delay of a message', 'cluster.network.delay', [
      ...['0s', '500us', '1ms', '2ms', '5ms', '10ms'],
    ]),
    facts: inTime,
  },
  'schedule-ahead': {
    setup: { ...DEFAULT_SETUP, overrides: ['workload.duration=5s'], lanes: [[]] },
    begins: 'at its end',
    knob: choice('schedule_ahead', 'How far ahead the GPU is booked', 'policy.scheduleAhead', [
      ...['1ms', '2ms', '3ms', '4ms', '5ms', '6ms', '7ms', '8ms', '10ms', '15ms'],
    ]),
    facts: inTime,
  },
  'load-balancing': {
    setup: withText(`seed: 1
cluster: { gpus: 1, pages: 70 }
models: { kind: profile, path: $PROFILE, copies: 20 }
workload: { kind: poisson, rate: 2000/s, duration: 5s, popularity: { kind: zipf, s: 0.9 } }
slo: 50ms
policy: { kind: escapement }
`),
    begins: 'at its end',
    knob: choice('GPUs', 'GPUs of the cluster', 'cluster.gpus', ['1', '2', '3', '4']),
    facts: (run) => ({
      ...inTime(run),
      'GPUs busy': shareText(run.summary.gpu.execUtilization),
      'Cold starts': formatCount(run.summary.coldStarts),
    }),
  },
  fairness: {
    setup: withText(`seed: 1
cluster: { gpus: 1, pages: 70 }
models: { kind: profile, path: $PROFILE, copies: 20 }
workload: { kind: poisson, rate: 900/s, duration: 5s, popularity: { kind: zipf, s: 0.9 } }
slo: 50ms
policy: { kind: escapement, fairness: 0 }
`),
    begins: 'at its end',
    knob: choice(
      'fairness',
      'Share of the overall attainment that every model is to reach',
      'policy.fairness',
      [...['0', '0.2', '0.4', '0.55', '0.7', '0.85', '1']],
    ),
    facts: (run) => ({
      ...inTime(run),
      'Worst model': shareText(run.summary.worstModel?.attainment ?? 0),
      'Models below half': `${run.summary.modelsBelow50} of ${run.summary.modelsAssessed}`,
    }),
  },
};

function withText(text: string): Setup {
  const [path] = Object.keys(DEFAULT_SETUP.files);
  return { ...DEFAULT_SETUP, text: text.replace('$PROFILE', path!), lanes: [[]] };
}

/** A knob that turns one key of the experiment. */
function choice(label: string, hint: string, key: string, choices: readonly string[]): Idea['knob'] {
  return (setup) => knob(label, hint, key, choices, textAt(effectiveTree(setup, 0), key.split('.'))!);
}

function inTime({ summary }: ScheduledRun): Readonly<Record<string, string>> {
  return {
    Goodput: `${formatRate(summary.goodputRps)} of ${formatRate(summary.offeredRps)}/s`,
    'In time': shareText(summary.attainment),
  };
}
