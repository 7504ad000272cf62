import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RemoteLink } from '../../src/live/controller/link/remote-link.js';
import { LocalLink } from '../../src/live/controller/link/worker-link.js';
import { serveMachine } from '../../src/live/worker/endpoint/worker-endpoint.js';
import { startMachine } from '../../src/live/worker/local-machine.js';
import { fetchStatus } from '../../src/tools/top/fetch-status.js';
import { tempDir } from '../cli/run-cli.js';
import { PATIENT } from '../live/controller/link/fixtures.js';
import { GrpcClient } from '../live/frontend/grpc-client.js';
import {
  body,
  expectReplay,
  exposed,
  PAGE_BYTES,
  type Running,
  serve,
  simulated,
  smallModels,
  until,
} from './fixtures.js';

const infer = ({ http }: Running, model: number, content: object = body()) =>
  http.post(`/v2/models/model${model}/infer`, content);

/**
 * Slow machines must not miss windows. On a GPU are pages for this many models of 2 pages each: with fewer than wanted,
 * clockwork would load instantly, and evict, for ever.
 */
const POLICIES = [
  ['clockwork', 8, ['slo=5s', 'policy={kind: clockwork, scheduleAhead: 5ms, latestDelta: 20s}']],
  ['fifo', 3, ['slo=5s', 'policy={kind: fifo, maxDelay: 1ms}']],
] as const;

describe.each(POLICIES)('a server that schedules by %s', (_, slots, overrides) => {
  it('answers all requests for many models, through both frontends', async () => {
    const running = await serve(
      { devices: simulated(2, 0), models: smallModels(8, 0), pages: 2 * slots },
      overrides,
    );
    const { server, http, metrics, journal } = running;
    expect((await http.get('/v2/health/ready')).status).toBe(200);
    const grpc = new GrpcClient(server.grpc?.port as number);
    const input = { name: 'input', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [1, 2] } };
    const [overHttp, overGrpc] = await Promise.all([
      Promise.all(Array.from({ length: 200 }, (_, i) => infer(running, i % 8, body(1 + (i % 3))))),
      Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          grpc.call('ModelInfer', { model_name: `model${i % 8}`, inputs: [input] }),
        ),
      ),
    ]);
    grpc.close();
    for (const [i, { status, json }] of overHttp.entries()) {
      expect(status).toBe(200);
      expect(json.model_name).toBe(`model${i % 8}`);
      expect(json.outputs[0]).toMatchObject({ name: 'output', shape: [1 + (i % 3), 1] });
      expect(json.outputs[0].data).toHaveLength(1 + (i % 3));
    }
    expect(overGrpc).toHaveLength(50);
    const exposed = (await metrics.get('/metrics')).text;
    expect(exposed).toMatch(/^escapement_worker_up\{[^}]*worker="local"[^}]*\} 1$/m);
    await server.close();
    await expectReplay(journal, 399 + 50);
  });
});

it('a model that no GPU in service runs in time is not ready, until one does', async () => {
  const models = smallModels(2, 1, [10, 15, 20]);
  const fast = await startMachine({
    ...{ kind: 'fast', devices: simulated(1, 1), models, pages: 6, pageBytes: PAGE_BYTES },
  });
  onTestFinished(() => fast.close());
  const worker = await serveMachine(fast, { port: 0 });
  onTestFinished(() => worker.close());
  const slow = await startMachine({
    ...{ kind: 'slow', devices: simulated(1, 1), models: smallModels(2, 1, [3000, 4000, 5000]) },
    ...{ pages: 6, pageBytes: PAGE_BYTES },
  });
  onTestFinished(() => slow.close());
  const links = [new LocalLink(slow), new RemoteLink({ address: `localhost:${worker.port}`, ...PATIENT })];
  const running = await serve({ devices: simulated(1, 1), models }, ['slo=2s', POLICIES[0][2][1]], { links });
  const { server, http } = running;
  const grpc = new GrpcClient(server.grpc?.port as number);
  onTestFinished(() => grpc.close());
  const look = async () => ({
    model: (await http.get('/v2/models/model0/ready')).status,
    grpc: (await grpc.call('ModelReady', { name: 'model0' })).ready,
    index: (await http.post('/v2/repository/index', {})).json.map((one: object) => Object.values(one)),
    server: (await http.get('/v2/health/ready')).status,
    blocked: (await fetchStatus(`http://127.0.0.1:${server.metrics?.port}`)).blocked,
    metric: (await exposed(running)).get('escapement_model_versions{model="model0",state="unavailable"}'),
  });
  const ready = {
    ...{ model: 200, grpc: true, server: 200, blocked: undefined, metric: 0 },
    index: [0, 1].map((m) => [`model${m}`, '1', 'READY', '']),
  };
  expect((await infer(running, 0)).status).toBe(200);
  expect(await look()).toEqual(ready);
  await worker.close();
  await until(async () => (await http.get('/v2/models/model0/ready')).status === 503);
  const why = 'no worker is up that can run the model in time';
  expect(await look()).toEqual({
    ...ready,
    ...{ model: 503, grpc: false, blocked: ['model0'], metric: 1 },
    index: [['model0', '1', 'UNAVAILABLE', why], ready.index[1]],
  });
  expect(await infer(running, 0)).toMatchObject({
    status: 503,
    json: { error: expect.stringContaining(why) },
  });
  // The other GPU is fast enough for a longer SLO.
  expect((await infer(running, 0, body(1, 60_000))).status).toBe(200);
  expect(await look()).toEqual(ready);
});

describe('closing', () => {
  it('answers what is under way, refuses what is new and takes no more connections', async () => {
    const running = await serve({ devices: simulated(1, 1), models: smallModels(1, 1, [500, 510, 520]) }, [
      'slo=10s',
    ]);
    const { server, http, journal } = running;
    const answers = Array.from({ length: 6 }, () => infer(running, 0));
    await until(() => server.controller?.core.requests.size === 6);
    const closed = server.close();
    expect(server.close()).toBe(closed);
    expect((await http.get('/v2/health/ready')).status).not.toBe(200);
    expect((await infer(running, 0)).status).toBe(503);
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
    await closed;
    await expect(http.get('/v2/health/live')).rejects.toThrow('fetch failed');
    await expectReplay(journal, 6);
  });
});

describe('requests that cannot be served in time', () => {
  it('are refused at once with the latency that was to be expected', async () => {
    const running = await serve({ devices: simulated(1, 1), models: smallModels(1, 1, [50, 60, 70]) });
    const { status, json, headers } = await infer(running, 0, body(1, 20));
    expect(status).toBe(429);
    const said =
      /^the SLO of 20 ms cannot be met: it would take (\d+\.\d{3}) ms(?:, of which (\d+\.\d{3}) ms had passed)?$/;
    const [takes, passed = 0] =
      said
        .exec(json.error)
        ?.slice(1)
        .map((ms) => Number(ms ?? 0)) ?? [];
    expect(takes - passed).toBeGreaterThan(50);
    expect(takes - passed).toBeLessThan(70);
    expect([...headers.keys()]).toContain('content-length');
    await running.server.close();
    await expectReplay(running.journal, 1);
  });
});

describe('a server that cannot start', () => {
  const machine = () => ({ devices: simulated(1, 0), models: smallModels(1, 0) });

  it('leaves nothing behind where its port is taken', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const { port } = squatter.address() as { port: number };
    const journal = join(tempDir(), 'run.journal');
    await expect(serve(machine(), [], { grpcPort: port, journal })).rejects.toMatchObject({
      code: 'E_LISTEN',
    });
    squatter.close();
    expect(existsSync(journal)).toBe(false);
  });
});
