import type { Setup } from '../share/address.js';

/** Text of experiments/profiles/resnet50_v2.clockwork-sim.v100.json, which the bundle fills in. */
declare const RESNET50_PROFILE: string;

const PROFILE = 'profiles/resnet50_v2.clockwork-sim.v100.json';

/** The published experiment on schedule_ahead at an SLO of 10 ms: the subject of the guided minute. */
export const DEFAULT_SETUP: Setup = {
  file: 'experiment.yaml',
  text: `seed: 1
cluster: { gpus: 1, pages: 1376 }
models: { kind: profile, path: ${PROFILE}, copies: 15 }
workload: { kind: poisson, rate: 600/s, duration: 20s }
slo: 10ms
policy: { kind: clockwork, scheduleAhead: 10ms, maxBatch: 8, maxExec: 250ms }
admission: none
`,
  overrides: [],
  lanes: [['policy.scheduleAhead=10ms'], ['policy.scheduleAhead=5ms']],
  files: { [PROFILE]: RESNET50_PROFILE },
};
