import { expect, it } from 'vitest';
import { simulate } from '../../src/run/simulated.js';
import { BASE, load } from '../config/experiment-files.js';

/** Users with a tight SLO, and others of the same models who always have work and time. */
const MIXED = BASE.replace(
  /^workload:.*\n/m,
  `workload:
  - { name: users, kind: poisson, rate: 50/s, duration: 5s, slo: 100ms }
  - { name: patient, kind: closed-loop, clients: 4, concurrency: 200, duration: 5s, slo: 60s }
`,
);

it.each(['escapement', 'edf', 'shepherd', 'symphony'])(
  'patient requests of a model keep none out that have less time (%s)',
  async (kind) => {
    const { summary } = await simulate(
      await load(MIXED, [`policy.kind=${kind}`, 'admission=predict', 'warmup=1s']),
    );
    const [users, patient] = summary.by.group!;
    expect(users.requests.ok).toBeGreaterThan(150);
    expect(users.attainment).toBeGreaterThan(0.95);
    expect(patient.attainment).toBeGreaterThan(0.95);
  },
);

// Results come back after 5 ms to 50 ms. Patient requests can wait while lanes are booked far ahead; users have less time than
// that.
const SLOW_NETWORK = ['cluster.network.delay=5ms', 'cluster.network.jitter=10ms'];

it('nor does schedule_ahead where it is tuned', async () => {
  const experiment = await load(MIXED, [
    ...['policy.kind=escapement', 'admission=predict', 'warmup=1s'],
    ...SLOW_NETWORK,
  ]);
  const { summary } = await simulate(experiment);
  const [users, patient] = summary.by.group!;
  expect(users.attainment).toBeGreaterThan(0.85);
  expect(patient.requests.ok).toBeGreaterThan(1000);
});

// `clockwork` serves the requests of a model in their order of arrival, so that all users are refused on arrival
// here: what is tuned must hear of them all the same.
it.each(['escapement', 'clockwork'])(
  'it is at most half of the shortest SLO, even where all of its requests are refused (%s)',
  async (kind) => {
    const policy = `policy={ kind: ${kind}, scheduleAhead: auto }`;
    const { tuned } = await simulate(await load(MIXED, [policy, 'admission=predict', ...SLOW_NETWORK]));
    const [{ name, values }] = tuned!;
    expect(name).toBe('scheduleAhead');
    expect(Math.max(...values)).toBeLessThanOrEqual(50);
    expect(Math.max(...values)).toBeGreaterThan(10);
  },
);
