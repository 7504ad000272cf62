import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Controller } from '../../../../src/core/controller.js';
import {
  ControllerMetrics,
  registerCluster,
} from '../../../../src/live/observe/telemetry/controller-metrics.js';
import { ModelLabels } from '../../../../src/live/observe/telemetry/labels.js';
import { fanOut } from '../../../../src/record/fan-out.js';
import { RunTally } from '../../../../src/record/run-tally.js';
import { buildSchedulerFigures, buildSummary } from '../../../../src/record/summary.js';
import { Simulator } from '../../../../src/sim/simulator.js';
import { createPolicy, ListSource, MS, poisson, resnets } from '../../../sim/fixtures.js';
import { scrape, total } from './exposition.js';

const WALL = { seconds: 1, processedRps: 1, peakRssBytes: 1 };

/** Two seconds of 2 GPUs under more load than they can serve, seen by a summary and by metrics. */
async function simulated(models: number, labels = new ModelLabels()) {
  const specs = resnets(models);
  const registry = new Registry();
  const metrics = new ControllerMetrics(registry, specs, { models: labels });
  const durationNs = 2000 * MS;
  const recorder = new RunTally({
    gpus: 2,
    durationNs: durationNs * 2,
    warmupNs: 0,
    models: specs,
    sections: ['all'],
    sectionStarts: [0],
  });
  const simulator = new Simulator({
    models: specs,
    gpus: 2,
    pages: 40,
    defaultSloNs: 25 * MS,
    createPolicy: createPolicy('clockwork'),
    source: new ListSource(
      poisson({ seed: 9, rateRps: 600, durationNs, models, slosNs: [15 * MS, 80 * MS] }),
    ),
    seed: 9,
    noise: { exec: 0.02, load: 0.02, stragglers: 0.01, stragglerFactor: 3 },
    observer: fanOut([recorder, metrics]),
  });
  await simulator.run();
  const { digest } = simulator.controller;
  const summary = {
    ...buildSummary(recorder, { name: 'run', kind: 'simulated', seed: 9, wall: WALL }),
    ...buildSchedulerFigures(recorder, { digest, policy: 'clockwork' }),
  };
  return { summary, registry, recorder };
}

describe('metrics of a controller', () => {
  it('count what the summary of the same run counts', async () => {
    const { summary, registry, recorder } = await simulated(12);
    const series = await scrape(registry);
    const { requests, actions } = summary;
    for (const outcome of ['ok', 'late', 'timeout', 'rejected', 'error'] as const) {
      expect(total(series, 'escapement_requests_total', `outcome="${outcome}"`)).toBe(requests[outcome]);
      expect(total(series, 'escapement_request_latency_seconds_count', `outcome="${outcome}"`)).toBe(
        requests[outcome],
      );
    }
    expect(requests.late + requests.timeout).toBeGreaterThan(0);
    expect(series.get('escapement_goodput_total')).toBe(requests.ok);
    expect(series.get('escapement_cold_starts_total')).toBe(summary.coldStarts);
    expect(total(series, 'escapement_actions_total', 'action="INFER"')).toBe(actions.infer);
    expect(total(series, 'escapement_actions_total', 'action="LOAD"')).toBe(actions.load);
    expect(total(series, 'escapement_actions_total', 'action="UNLOAD"')).toBe(actions.unload);
    expect(total(series, 'escapement_actions_total', 'status="too_late"')).toBe(actions.tooLate);
    const busyS = (lane: string) => total(series, 'escapement_lane_busy_seconds_total', `lane="${lane}"`);
    expect(busyS('EXEC')).toBeCloseTo((recorder.busyNs[0] as number) / 1e9, 6);
    expect(busyS('WEIGHTS')).toBeCloseTo((recorder.busyNs[1] as number) / 1e9, 6);
    const ok = total(series, 'escapement_actions_total', 'status="ok"') - actions.unload;
    expect(total(series, 'escapement_prediction_error_seconds_count')).toBe(ok);
    expect(total(series, 'escapement_prediction_error_seconds_count', 'direction="under"')).toBeGreaterThan(
      0,
    );
  });

  it('tell latency and queue time apart', async () => {
    const { summary, registry } = await simulated(3);
    const series = await scrape(registry);
    const executed = summary.requests.ok + summary.requests.late;
    const sumS = (name: string) =>
      total(series, `${name}_sum`, 'outcome="ok"') + total(series, `${name}_sum`, 'outcome="late"');
    expect((sumS('escapement_request_latency_seconds') / executed) * 1000).toBeCloseTo(
      summary.executedLatencyMs.mean as number,
      3,
    );
    expect(sumS('escapement_request_queue_seconds')).toBeLessThan(sumS('escapement_request_latency_seconds'));
    expect(sumS('escapement_request_queue_seconds')).toBeGreaterThan(0);
  });

  it('name the first models only, however many there are', async () => {
    const { summary, registry } = await simulated(80, new ModelLabels(50));
    const series = await scrape(registry);
    const names = new Set([...series.keys()].flatMap((key) => /model="([^"]*)"/.exec(key)?.[1] ?? []));
    expect(names.size).toBeLessThanOrEqual(51);
    expect(names).toContain('other');
    expect(total(series, 'escapement_request_latency_seconds_count')).toBe(summary.requests.offered);
  });

  it('show late wake-ups, steps and workers', async () => {
    const registry = new Registry();
    const metrics = new ControllerMetrics(registry, resnets(1));
    metrics.wokeLate(20_000);
    metrics.wokeLate(3 * MS);
    metrics.wokeLate(-5);
    metrics.stepped(0, 20_000);
    metrics.stepped(0, 3 * MS);
    metrics.worker('127.0.0.1:7000', true);
    metrics.worker('127.0.0.1:7001', false);
    metrics.standsBy(true);
    const series = await scrape(registry);
    expect(series.get('escapement_wakeup_lateness_seconds_count')).toBe(3);
    expect(series.get('escapement_wakeup_lateness_seconds_bucket{le="0.00001"}')).toBe(1);
    expect(series.get('escapement_wakeup_lateness_seconds_bucket{le="0.000025"}')).toBe(2);
    expect(series.get('escapement_step_seconds_count')).toBe(2);
    expect(series.get('escapement_step_seconds_sum')).toBeCloseTo(0.00302, 9);
    expect(series.get('escapement_step_seconds_bucket{le="0.00001"}')).toBe(0);
    expect(series.get('escapement_step_seconds_bucket{le="0.000025"}')).toBe(1);
    expect(series.get('escapement_worker_up{worker="127.0.0.1:7000"}')).toBe(1);
    expect(series.get('escapement_worker_up{worker="127.0.0.1:7001"}')).toBe(0);
    expect(series.get('escapement_standby')).toBe(1);
  });

  it('compute the state of the cluster when they are asked', async () => {
    const registry = new Registry();
    const controller = new Controller({
      cluster: { models: resnets(3), gpus: 2, spareGpus: 1, pages: 20 },
      defaultSloNs: 25 * MS,
      createPolicy: createPolicy('clockwork'),
      port: { send: () => {}, answer: () => {} },
    });
    const workerOf = (gpu: number) => ['a:8003', 'b:8003', ''][gpu];
    registerCluster(registry, controller, workerOf, (gpu) => ['v100', 't4', ''][gpu]);
    controller.gpuUp(0, [0, 1]);
    controller.gpuDown(1);
    for (let i = 0; i < 4; i++) controller.offer(2, 0, 100 * MS, 0);
    controller.offer(0, 0, 100 * MS, 0);
    controller.step(0);
    const series = await scrape(registry);
    expect(Object.fromEntries(series)).toMatchObject({
      'escapement_gpu_up{gpu="0",worker="a:8003"}': 1,
      'escapement_gpu_up{gpu="1",worker="b:8003"}': 0,
      'escapement_gpu_info{gpu="0",kind="v100"}': 1,
      'escapement_gpu_info{gpu="1",kind="t4"}': 1,
      'escapement_warm_models{gpu="0"}': 1,
      'escapement_free_pages{gpu="0"}': 6,
      'escapement_free_pages{gpu="1"}': 20,
      'escapement_queued_requests{model="resnet50-2"}': 4,
      escapement_unanswered_requests: 5,
    });
    // No worker has the third one.
    expect(
      [...series.keys()].filter((key) => /^escapement_(gpu_up|gpu_info|free_pages)/.test(key)),
    ).toHaveLength(6);
  });
});
