import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { type Action, INFER } from '../../../src/core/action.js';
import { simulate } from '../../../src/run/simulated.js';
import { BASE, load } from '../../config/experiment-files.js';

const PROFILE = resolve('experiments/profiles/resnet50_v2.clockwork-sim.v100.json');
const models = (copies: number) => `models={ kind: profile, path: ${PROFILE}, copies: ${copies} }`;
const OTHERS = ['edf', 'shepherd', 'clockwork', 'symphony', 'nexus'];

it.each([
  [
    'delays of messages vary by as much as the SLO leaves',
    [
      ...['cluster.gpus=4', 'cluster.network.jitter=30ms', models(15), 'slo=100ms', 'warmup=5s'],
      'workload={ kind: poisson, rate: 60/s, duration: 60s }',
    ],
  ],
  [
    'one model is cold and needs all GPUs',
    [
      ...['cluster.gpus=4', models(1), 'slo=40ms'],
      'workload={ kind: poisson, rate: 1600/s, duration: 200ms }',
    ],
  ],
])('is behind no other policy where %s', async (_, overrides) => {
  const goodputRps = async (kind: string) =>
    (await simulate(await load(BASE, [...overrides, `policy={ kind: ${kind} }`]))).summary.goodputRps!;
  const own = await goodputRps('escapement');
  for (const kind of OTHERS) expect(own, kind).toBeGreaterThanOrEqual(await goodputRps(kind));
});

it('sends INFERs to idle GPUs first', async () => {
  const experiment = await load(BASE, [
    ...['cluster.gpus=4', 'cluster.network.jitter=30ms', models(15), 'slo=100ms'],
    ...['policy={ kind: escapement }', 'workload={ kind: poisson, rate: 60/s, duration: 20s }'],
  ]);
  const outstanding = [0, 0, 0, 0];
  const isInfer = ({ kind }: Action) => kind === INFER;
  // By then every GPU holds every model.
  let [sent, sentToBusy] = [0, 0];
  await simulate(experiment, {
    observer: {
      answered: () => {},
      completed: (action) => {
        if (isInfer(action)) outstanding[action.gpu]--;
      },
      decided: (action, nowNs) => {
        if (!isInfer(action)) return;
        if (nowNs > 5e9) {
          sent++;
          if (outstanding[action.gpu] > 0 && outstanding.includes(0)) sentToBusy++;
        }
        outstanding[action.gpu]++;
      },
    },
  });
  expect(sent).toBeGreaterThan(500);
  expect(sentToBusy).toBe(0);
});
