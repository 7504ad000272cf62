import { connect } from 'node:net';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { GrpcClient } from '../live/frontend/grpc-client.js';
import { parseExposition, total } from '../live/observe/telemetry/exposition.js';
import { body, serve, simulated, smallModels } from './fixtures.js';

/** Metrics of the process itself. */
const OTHERS = /^(?!escapement_).*$/gm;

it('shows what frontend threads refused next to what the scheduler answered', async () => {
  const { http, metrics, server } = await serve({ devices: simulated(1, 1), models: smallModels(1, 1) });
  const grpc = new GrpcClient(server.grpc?.port ?? 0);
  onTestFinished(() => grpc.close());
  const exposed = async () => parseExposition((await metrics.get('/metrics')).text.replace(OTHERS, ''));
  const refused = (transport: string, reason: string) =>
    `escapement_refused_total{transport="${transport}",reason="${reason}"}`;
  expect((await exposed()).get(refused('http', 'not_ready'))).toBe(0);

  expect((await http.post('/v2/models/model0/infer', body(1, 10_000))).status).toBe(200);
  for (let i = 0; i < 2; i++) expect((await http.post('/v2/models/other/infer', body())).status).toBe(404);
  await expect(grpc.call('ModelInfer', { model_name: 'other' })).rejects.toMatchObject({ code: 5 });
  await http.post('/v2/repository/models/model0/unload');
  expect((await http.post('/v2/models/model0/infer', body())).status).toBe(503);

  const series = await exposed();
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
  const later = await exposed();
  expect(later.get(ofModel('http', 'invalid'))).toBe(1);
  expect(later.get(ofModel('grpc', 'invalid'))).toBe(2);
});

it('shows how many versions of a model are in which state', async () => {
  const { http, metrics } = await serve({ devices: simulated(1, 1), models: smallModels(2, 1) });
  const states = async (model: string) => {
    const series = parseExposition((await metrics.get('/metrics')).text.replace(OTHERS, ''));
    const own = [...series].filter(([key]) => key.startsWith(`escapement_model_versions{model="${model}"`));
    return Object.fromEntries(own.map(([key, value]) => [/state="(\w+)"/.exec(key)?.[1], value]));
  };
  const none = { ready: 0, outdated: 0, loading: 0, unloading: 0, unloaded: 0, unavailable: 0 };
  expect(await states('model0')).toEqual({ ...none, ready: 1 });
  await http.post('/v2/repository/models/model0/unload');
  expect(await states('model0')).toEqual({ ...none, unloaded: 1 });
  expect(await states('model1')).toEqual({ ...none, ready: 1 });
});

it('names in the log who takes all connections of the metrics port', async () => {
  const said: unknown[] = [];
  const log = pino({ level: 'warn', base: null }, { write: (line) => said.push(JSON.parse(line).msg) });
  const { server } = await serve({ devices: simulated(1, 1), models: smallModels(1, 1) }, [], { log });
  const port = server.metrics?.port ?? 0;
  for (let i = 0; i < 70; i++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
  }
  // Six are closed: the first three are said at once, the others together.
  await expect
    .poll(() => said.slice(0, 3))
    .toEqual(
      new Array(3).fill(
        expect.stringMatching(/^connections of 127\.0\.0\.2 to the metrics port are closed /),
      ),
    );
  expect(said.length).toBeLessThanOrEqual(4);
});
