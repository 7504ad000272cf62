import type { ScheduledRun } from '../../../record/results.js';
import { formatCount, formatPerSecond, formatRate } from '../../../text/numbers.js';
import type { Setup } from '../../share/address.js';
import { DEFAULT_SETUP } from '../default-setup.js';
import type { Knob } from '../knobs.js';
import { overrideOf, withOverride } from '../overrides.js';
import { shareText } from '../share-text.js';

/** One idea as a simulation with one thing to change. */
export interface Idea {
  readonly setup: Setup;
  /** Initial state, also after a change: the end of its run, or after this many steps. */
  readonly begins: 'at its end' | number;
  knob(setup: Setup): Knob;
  /** Figures of a completed run, by name. */
  facts(run: ScheduledRun): Readonly<Record<string, string>>;
}

const DELAYS = ['0s', '500us', '1ms', '2ms', '5ms', '10ms'];
const AHEADS = ['1ms', '2ms', '3ms', '4ms', '5ms', '6ms', '7ms', '8ms', '10ms', '15ms'];
const GPUS = ['1', '2', '3', '4'];
const SHARES = ['0', '0.2', '0.4', '0.55', '0.7', '0.85', '1'];

/** By the names that pages use. */
export const IDEAS: Readonly<Record<string, Idea>> = {
  windows: {
    setup: withText(
      'cluster.network.delay=500us',
      `seed: 1
cluster: { gpus: 1, noise: { exec: 10% } }
models: { kind: profile, path: $PROFILE, copies: 3 }
workload: { kind: poisson, rate: 250/s, duration: 2s }
slo: 40ms
policy: { kind: clockwork, scheduleAhead: 5ms, maxBatch: 4 }
admission: none
`,
    ),
    begins: 60,
    knob: choice('Network', 'One-way delay of a message', 'cluster.network.delay', DELAYS),
    facts: inTime,
  },
  'schedule-ahead': {
    setup: {
      ...DEFAULT_SETUP,
      overrides: ['workload.duration=5s', 'policy.scheduleAhead=10ms'],
      lanes: [[]],
    },
    begins: 'at its end',
    knob: choice(
      'schedule_ahead',
      'How far ahead the GPU is booked; every request is accepted (admission: none)',
      'policy.scheduleAhead',
      AHEADS,
    ),
    facts: inTime,
  },
  'load-balancing': {
    setup: withText(
      'cluster.gpus=1',
      `seed: 1
cluster: { pages: 70 }
models: { kind: profile, path: $PROFILE, copies: 20 }
workload: { kind: poisson, rate: 2000/s, duration: 5s, popularity: { kind: zipf, s: 0.9 } }
slo: 50ms
policy: { kind: escapement }
`,
    ),
    begins: 'at its end',
    knob: choice('GPUs', 'GPUs of the cluster', 'cluster.gpus', GPUS),
    facts: (run) => ({
      ...inTime(run),
      'GPUs busy': shareText(run.summary.gpu.execUtilization),
      'Cold starts': formatCount(run.summary.coldStarts ?? 0),
    }),
  },
  fairness: {
    setup: withText(
      'policy.fairness=0',
      `seed: 1
cluster: { gpus: 1, pages: 70 }
models: { kind: profile, path: $PROFILE, copies: 20 }
workload: { kind: poisson, rate: 900/s, duration: 5s, popularity: { kind: zipf, s: 0.9 } }
slo: 50ms
policy: { kind: escapement }
`,
    ),
    begins: 'at its end',
    knob: choice(
      'fairness',
      'Share of the overall attainment that every model is to reach',
      'policy.fairness',
      SHARES,
    ),
    facts: (run) => ({
      ...inTime(run),
      'Worst model': shareText(run.summary.worstModel?.attainment ?? 0),
      'Models below half': `${run.summary.modelsBelow50} of ${run.summary.modelsAssessed}`,
    }),
  },
};

/** A setup whose override holds the knob's position. */
function withText(override: string, text: string): Setup {
  const [path] = Object.keys(DEFAULT_SETUP.files);
  return { ...DEFAULT_SETUP, text: text.replace('$PROFILE', path!), overrides: [override], lanes: [[]] };
}

/** A knob for one key of the experiment, which an override sets from the start. */
function choice(label: string, hint: string, key: string, choices: readonly string[]): Idea['knob'] {
  return ({ overrides }) => ({
    ...{ label, hint, choices },
    value: overrideOf(overrides, key),
    set: (setup, chosen) => ({ ...setup, overrides: withOverride(setup.overrides, key, chosen) }),
  });
}

function inTime({ summary }: ScheduledRun): Readonly<Record<string, string>> {
  return {
    Goodput: `${formatRate(summary.goodputRps)} of ${formatPerSecond(summary.offeredRps)}`,
    'In time': shareText(summary.attainment),
  };
}
