import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import type { GpuStatus } from '../../../src/live/observe/status/cluster-status.js';
import { HttpClient } from '../../live/frontend/fixtures.js';
import { writeIn } from '../../live/models/fixtures.js';
import { tempDir } from '../run-cli.js';
import { get, ServerProcess, tinyProfile, until } from '../server-process.js';

const ANY_PORTS = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
const BODY = {
  inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }],
  parameters: { slo_ms: 10_000 },
};

/** Between the requests of a client: what is tested needs no full processors. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 10));

const make = (seed: number) => makeModel('mlp', { input: 4, seed, classes: 2 }).onnx;

function startWorker(args: readonly string[], port = 0): ServerProcess {
  return new ServerProcess(['worker', ...args, '--port', String(port), '--metrics-port', 'off']);
}

async function startController(
  ports: readonly number[],
  flags: readonly string[] = [],
  minWorkers = ports.length,
) {
  const workers = ports.flatMap((port) => ['--worker', `127.0.0.1:${port}`]);
  const count = ['--min-workers', String(minWorkers)];
  const process = new ServerProcess([
    ...['controller', ...workers, ...count, ...flags, ...ANY_PORTS, '--set', 'slo=10s'],
  ]);
  const ready = await process.ready();
  const http = new HttpClient(ready.http as number);
  const change = async (verb: 'load' | 'unload', name: string) => {
    const { status, json } = await http.post(`/v2/repository/models/${encodeURIComponent(name)}/${verb}`);
    return [status, json?.error];
  };
  const isUp = async (port: number) =>
    (await get(ready.metrics, '/metrics')).text.includes(
      `escapement_worker_up{worker="127.0.0.1:${port}"} 1`,
    );
  return { process, http, change, isUp, metrics: ready.metrics, port: ready.http as number };
}

describe('models of a controller', () => {
  it('are those of its workers’ repositories; under load they change and no request fails', async () => {
    const [one, two] = [tempDir(), tempDir()];
    writeIn(one, 'ranker/config.yaml', 'batchSizes: [1]\n');
    writeIn(one, 'ranker/1/model.onnx', make(1));
    const second = ['--repository', two];
    cpSync(one, two, { recursive: true });
    const workers = [startWorker(['--repository', one]), startWorker(second)];
    const ports = await Promise.all(workers.map(async (worker) => (await worker.ready()).port as number));
    const { process, http, change, isUp, port } = await startController(ports);
    await until(async () => (await isUp(ports[0])) && (await isUp(ports[1])));

    const outputs: string[] = [];
    const problems: unknown[] = [];
    let isOver = false;
    const client = async () => {
      const own = new HttpClient(port);
      while (!isOver) {
        const { status, json } = await own.post('/v2/models/ranker/infer', BODY);
        if (status !== 200) problems.push(json);
        const text = JSON.stringify(json?.outputs?.[0]?.data);
        if (!outputs.includes(text)) outputs.push(text);
        await pause();
      }
    };
    const clients = [client(), client(), client()];
    await until(() => outputs.length === 1);

    for (const name of ['later', '../ranker']) {
      expect(await change('load', name)).toEqual([404, expect.stringContaining('unknown model')]);
    }
    for (const dir of [one, two]) writeIn(dir, 'later/1/model.onnx', make(1));
    expect(await change('load', 'later')).toEqual([200, undefined]);
    expect((await http.post('/v2/models/later/infer', BODY)).status).toBe(200);

    writeIn(one, 'ranker/1/model.onnx', make(2));
    const [status, why] = await change('load', 'ranker');
    expect([status, why]).toEqual([
      500,
      expect.stringMatching(
        /the files of model ranker, version 1, on worker \S+ differ from those on worker .*stays in service/,
      ),
    ]);
    expect(outputs).toHaveLength(1);
    writeIn(two, 'ranker/1/model.onnx', make(2));
    expect(await change('load', 'ranker')).toEqual([200, undefined]);
    await until(() => outputs.length === 2);
    for (const dir of [one, two]) writeIn(dir, 'ranker/2/model.onnx', make(3));
    expect(await change('load', 'ranker')).toEqual([200, undefined]);
    await until(() => outputs.length === 3);
    expect((await http.get('/v2/models/ranker')).json).toMatchObject({ versions: ['2'] });

    // A worker that was started again has what the others have.
    await workers[1].kill('SIGKILL');
    await until(async () => !(await isUp(ports[1])));
    workers[1] = startWorker(second, ports[1]);
    await until(() => isUp(ports[1]));
    isOver = true;
    await Promise.all(clients);
    expect(problems).toEqual([]);
    expect(outputs).toHaveLength(3);

    expect(await change('unload', 'later')).toEqual([200, undefined]);
    expect((await http.post('/v2/models/later/infer', BODY)).status).not.toBe(200);
    expect(await change('load', 'later')).toEqual([200, undefined]);
    expect((await http.post('/v2/models/later/infer', BODY)).status).toBe(200);
    expect(await process.kill('SIGTERM')).toBe(0);
    for (const worker of workers) expect(await worker.kill('SIGTERM')).toBe(0);
  });

  it('come back where all workers have newer files than the cluster', async () => {
    const dir = tempDir();
    const path = 'ranker/1/model.onnx';
    writeIn(dir, path, make(1));
    const args = ['--repository', dir];
    const worker = startWorker(args);
    const port = (await worker.ready()).port as number;
    const { process, http, change } = await startController([port]);
    const before = (await http.post('/v2/models/ranker/infer', BODY)).json?.outputs;
    await worker.kill('SIGTERM');
    writeIn(dir, path, make(2));
    await startWorker(args, port).ready();
    await until(() => process.stderr.includes('its files have changed since they were listed'));
    expect((await http.get('/v2/health/ready')).status).not.toBe(200);
    expect(await change('load', 'ranker')).toEqual([200, undefined]);
    await until(async () => (await http.get('/v2/health/ready')).status === 200);
    const { status, json } = await http.post('/v2/models/ranker/infer', BODY);
    expect(status).toBe(200);
    expect(json?.outputs).not.toEqual(before);
  });

  it('that only a worker has which is away are named, and come with it', async () => {
    const [one, two] = [tempDir(), tempDir()];
    writeIn(one, 'ranker/1/model.onnx', make(1));
    writeIn(one, 'ranker/config.yaml', 'batchSizes: [1]\n');
    cpSync(one, two, { recursive: true });
    cpSync(join(one, 'ranker'), join(two, 'later'), { recursive: true });
    const away = startWorker(['--repository', two]);
    const awayPort = (await away.ready()).port as number;
    await away.kill('SIGKILL');
    const port = (await startWorker(['--repository', one]).ready()).port as number;
    const control = ['--model-control', 'explicit', '--load-model', 'ranker', '--load-model', 'later'];
    const { http, change, isUp, metrics } = await startController([port, awayPort], control, 1);
    expect((await get(metrics, '/metrics')).text).toContain(
      `escapement_worker_up{worker="127.0.0.1:${awayPort}"} 0`,
    );
    const reasons = async () => {
      const { json } = await http.post('/v2/repository/index');
      // The reason of one that is ready says how it was measured.
      return (json as { name: string; state: string; reason: string }[]).map(
        ({ name, state, reason }) => `${name}: ${state === 'READY' ? state : reason}`,
      );
    };
    expect(await reasons()).toEqual([
      `later: not available: Request for unknown model: "later" is not found; these workers are absent: 127.0.0.1:${awayPort}`,
      'ranker: READY',
    ]);
    startWorker(['--repository', two], awayPort);
    await until(() => isUp(awayPort));
    await until(async () => (await reasons())[0] === 'later: READY');
    expect((await http.post('/v2/models/later/infer', BODY)).status).toBe(200);
    cpSync(join(two, 'later'), join(one, 'later'), { recursive: true });
    expect(await change('load', 'later')).toEqual([200, undefined]);
    expect(await reasons()).toEqual(['later: READY', 'ranker: READY']);
    expect((await http.post('/v2/models/later/infer', BODY)).status).toBe(200);
  });
});

describe('a controller of GPUs of several kinds', () => {
  it('takes each kind as fast as its workers measured it, and says which GPU is what', async () => {
    const device = ['--device', `simulated:${tinyProfile()}`];
    const workers = [
      startWorker([...device, '--kind', 't4', '--time-scale', '20']),
      startWorker([...device, '--kind', 'v100', '--gpus', '2']),
    ];
    const ports = await Promise.all(workers.map(async (worker) => (await worker.ready()).port as number));
    const { process, metrics, http, isUp } = await startController(ports);
    await until(async () => (await isUp(ports[0])) && (await isUp(ports[1])));
    // One request takes 40 ms on the t4: it is never given one, however many others are late on a busy machine.
    const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, 2], data: [1, 2] }];
    const body = { inputs, parameters: { slo_ms: 39 } };
    await until(async () => (await http.post('/v2/models/tiny/infer', body)).status === 200);
    for (let i = 0; i < 20; i++) await http.post('/v2/models/tiny/infer', body);
    const status = JSON.parse((await get(metrics, '/status')).text);
    expect(status.gpus.map(({ kind, warmModels }: GpuStatus) => [kind, warmModels > 0])).toEqual([
      ['t4', false],
      ['v100', expect.any(Boolean)],
      ['v100', expect.any(Boolean)],
    ]);
    const { text } = await get(metrics, '/metrics');
    expect(text).toContain('escapement_gpu_info{gpu="0",kind="t4"} 1');
    expect(text).toContain('escapement_gpu_info{gpu="2",kind="v100"} 1');
    expect(await process.kill('SIGTERM')).toBe(0);
    expect(process.log.find(({ msg }) => msg === 'ready')).toMatchObject({ kinds: { t4: 1, v100: 2 } });
    const said = workers.map(({ log }) => log.find(({ msg }) => msg === 'ready'));
    expect(said).toMatchObject([
      { gpus: 1, kind: 't4' },
      { gpus: 2, kind: 'v100' },
    ]);
    for (const worker of workers) await worker.kill('SIGTERM');
  });
});
