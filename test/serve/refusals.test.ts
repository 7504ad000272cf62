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

  expect((await http.post('/v2/models/model0/infer', body())).status).toBe(200);
  for (let i = 0; i < 2; i++) expect((await http.post('/v2/models/other/infer', body())).status).toBe(404);
  await expect(grpc.call('ModelInfer', { model_name: 'other' })).rejects.toMatchObject({ code: 5 });
  await http.post('/v2/repository/models/model0/unload');
  expect((await http.post('/v2/models/model0/infer', body())).status).toBe(503);

  const series = await exposed();
  expect(series.get(refused('http', 'unknown'))).toBe(2);
  expect(series.get(refused('grpc', 'unknown'))).toBe(1);
  expect(series.get(refused('http', 'not_ready'))).toBe(1);
  expect(total(series, 'escapement_refused_total')).toBe(4);
  expect(total(series, 'escapement_requests_total')).toBe(1);
});
