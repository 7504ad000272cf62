import { expect, it, onTestFinished } from 'vitest';
import { GrpcClient } from '../live/frontend/grpc-client.js';
import { total } from '../live/observe/telemetry/exposition.js';
import { body, exposed, serve, simulated, smallModels } from './fixtures.js';

it('counts batches and stages of each model as the statistics of the protocol do', async () => {
  const running = await serve({ devices: simulated(1, 1), models: smallModels(2, 1) });
  const { http } = running;
  const ask = (model: string, rows: number) => http.post(`/v2/models/${model}/infer`, body(rows, 5000));
  const answers = await Promise.all([...[1, 4, 2, 8].map((rows) => ask('model0', rows)), ask('model1', 1)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const series = await exposed(running);
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

it('shows what frontend threads refused next to what the scheduler answered', async () => {
  const running = await serve({ devices: simulated(1, 1), models: smallModels(1, 1) });
  const { http, server } = running;
  const grpc = new GrpcClient(server.grpc?.port ?? 0);
  onTestFinished(() => grpc.close());
  const refused = (transport: string, reason: string) =>
    `escapement_refused_total{transport="${transport}",reason="${reason}"}`;
  expect((await exposed(running)).get(refused('http', 'not_ready'))).toBe(0);

  expect((await http.post('/v2/models/model0/infer', body(1, 10_000))).status).toBe(200);
  for (let i = 0; i < 2; i++) expect((await http.post('/v2/models/other/infer', body())).status).toBe(404);
  await expect(grpc.call('ModelInfer', { model_name: 'other' })).rejects.toMatchObject({ code: 5 });
  await http.post('/v2/repository/models/model0/unload');
  expect((await http.post('/v2/models/model0/infer', body())).status).toBe(503);

  const series = await exposed(running);
  expect(series.get(refused('http', 'unknown'))).toBe(2);
  expect(series.get(refused('grpc', 'unknown'))).toBe(1);
  // By model only where the model is known: names that clients make up are no labels.
  expect(series.get(refused('http', 'not_ready'))).toBe(0);
  const ofModel = (transport: string, reason: string) =>
    refused(transport, reason).replace('}', ',model="model0"}');
  expect(series.get(ofModel('http', 'not_ready'))).toBe(1);
  expect([...series.keys()].filter((key) => key.includes('other'))).toEqual([]);
  expect(total(series, 'escapement_refused_total')).toBe(4);
  expect(total(series, 'escapement_requests_total')).toBe(1);

  await http.post('/v2/repository/models/model0/load');
  expect((await http.post('/v2/models/model0/infer', '{}')).status).toBe(400);
  await expect(grpc.call('ModelInfer', { model_name: 'model0' })).rejects.toMatchObject({ code: 3 });
  expect((await grpc.call('ModelStreamInfer', { model_name: 'model0' })).error_message).not.toBe('');
  const later = await exposed(running);
  expect(later.get(ofModel('http', 'invalid'))).toBe(1);
  expect(later.get(ofModel('grpc', 'invalid'))).toBe(2);
});
