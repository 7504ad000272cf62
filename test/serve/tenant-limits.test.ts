import { expect, it } from 'vitest';
import { createPolicyOf } from '../../src/config/create-policy.js';
import { FlightRecorder } from '../../src/live/journal/flight-recorder.js';
import { replayJournal } from '../../src/live/journal/replay.js';
import { flightText } from '../../src/record/flight/explain.js';
import { fetchStatus } from '../../src/tools/top/fetch-status.js';
import { body, exposed, keptLog, serve, simulated, smallModels } from './fixtures.js';

const INFER = '/v2/models/model0/infer';
/** Shorter than an INFER of these models. */
const IMPATIENT_MS = 0.01;

it('what a rate refuses differs from what cannot be in time: in metrics, log and journal', async () => {
  const { log, lines } = keptLog();
  const tenants = 'tenants.list=[{ name: others }, { name: acme, rate: 0.001/s, burst: 1 }]';
  const running = await serve({ devices: simulated(1, 1), models: smallModels(1, 1) }, [tenants], { log });
  const { http, server, journal } = running;
  const acme = { 'x-tenant': 'acme' };
  const statuses: number[] = [];
  let said = '';
  const ask = async (sloMs: number, headers = {}) => {
    const { status, text } = await http.post(INFER, body(1, sloMs), headers);
    statuses.push(status);
    said = text;
  };
  // The model is loaded, so that the second is refused at once.
  await ask(20_000);
  await ask(IMPATIENT_MS);
  await ask(20_000, acme);
  await ask(20_000, acme);
  expect(statuses).toEqual([200, statuses[1], 200, 429]);
  expect([429, 504]).toContain(statuses[1]);
  expect(said).toContain(
    'the tenant acme is over its rate of 0.001/s with bursts of 1: it may send again in ',
  );

  const series = await exposed(running);
  const rejected = (reason: string, tenant: string) =>
    series.get(`escapement_rejected_total{reason="${reason}",tenant="${tenant}"}`);
  expect([rejected('rate', 'acme'), rejected('rate', 'others')]).toEqual([1, 0]);
  expect([rejected('share', 'acme'), rejected('slo', 'acme')]).toEqual([0, 0]);
  expect(rejected('slo', 'others')).toBe(statuses[1] === 429 ? 1 : 0);

  const status = await fetchStatus(`http://127.0.0.1:${server.metrics?.port}`);
  expect(status.by.class).toBeUndefined();
  const [others, limited] = status.by.tenant ?? [];
  const refused = statuses[1] === 429 ? 1 : 0;
  expect(others).toMatchObject({
    ...{ key: 'others', share: 0.5, requests: { offered: 2, ok: 1, rejected: refused }, attainment: 0.5 },
    failures: { refused, overRate: 0, overShare: 0 },
  });
  expect(limited).toMatchObject({
    ...{ key: 'acme', share: 0.5, requests: { offered: 2, ok: 1, rejected: 1 }, attainment: 0.5 },
    ...{ failures: { refused: 0, overRate: 1, overShare: 0 }, offeredLatencyMs: { p99: null } },
  });
  expect(limited.offeredLatencyMs.p50).toBe(limited.executedLatencyMs.p50);
  expect((others.gpuShare ?? 0) + (limited.gpuShare ?? 0)).toBeCloseTo(1, 2);
  expect(limited.gpuShare).toBeGreaterThan(0.1);

  const tenantLines = () => lines.filter(({ msg }) => /^requests of tenant acme beyond its rate/.test(msg));
  await expect
    .poll(tenantLines)
    .toMatchObject([{ level: 40, msg: expect.stringContaining('(rate 0.001/s, burst 1); ') }]);

  await server.close(0);
  const recorder = new FlightRecorder(3);
  await replayJournal(journal, {
    createPolicy: ({ policy: { kind, options } }, context) => createPolicyOf({ kind, options })(context),
    observer: recorder,
    watchers: [recorder],
  });
  const { flight } = recorder;
  expect(flight).toMatchObject({ tenant: 'acme', limit: 'rate', known: [{ predictedNs: null }] });
  const text = flight === null ? '' : flightText(flight);
  expect(text).toContain('refused on arrival: acme had used up its rate and burst');
  expect(text).not.toContain('queued behind');
  expect(text).not.toContain('expected after');
});
