import { expect, it } from 'vitest';
import { parseExposition, total } from '../live/observe/telemetry/exposition.js';
import { body, serve, simulated, smallModels } from './fixtures.js';

/** Metrics of the process itself. */
const OTHERS = /^(?!escapement_).*$/gm;

it('counts batches and stages of each model as the statistics of the protocol do', async () => {
  const { http, metrics } = await serve({ devices: simulated(1, 1), models: smallModels(2, 1) });
  const ask = (model: string, rows: number) => http.post(`/v2/models/${model}/infer`, body(rows, 5000));
  const answers = await Promise.all([...[1, 4, 2, 8].map((rows) => ask('model0', rows)), ask('model1', 1)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const series = parseExposition((await metrics.get('/metrics')).text.replace(OTHERS, ''));
  for (const name of ['model0', 'model1']) {
    const { text } = await http.get(`/v2/models/${name}/stats`);
    const [stats] = JSON.parse(text).model_stats;
    const model = `model="${name}"`;
    const secondsIn = (stage: string) =>
      series.get(`escapement_request_stage_seconds_total{${model},stage="${stage}"}`);
    expect(series.get(`escapement_batch_size_count{${model}}`)).toBe(stats.execution_count);
    expect(series.get(`escapement_batch_size_sum{${model}}`)).toBe(stats.inference_count);
    expect(secondsIn('queue')).toBeCloseTo(stats.inference_stats.queue.ns / 1e9, 6);
    expect(secondsIn('copy_in')).toBeCloseTo(stats.inference_stats.compute_input.ns / 1e9, 6);
    expect(secondsIn('exec')).toBeCloseTo(stats.inference_stats.compute_infer.ns / 1e9, 6);
    expect(secondsIn('copy_out')).toBeCloseTo(stats.inference_stats.compute_output.ns / 1e9, 6);
    expect(total(series, 'escapement_request_latency_seconds_count', model)).toBe(stats.inference_count);
  }
  expect(series.get('escapement_batch_size_sum{model="model0"}')).toBe(15);
  // At most four fit into one INFER.
  expect(series.get('escapement_batch_size_bucket{le="4",model="model0"}')).toBe(
    series.get('escapement_batch_size_count{model="model0"}'),
  );
  expect(series.get('escapement_request_stage_seconds_total{model="model0",stage="exec"}')).toBeGreaterThan(
    0.01,
  );
});
