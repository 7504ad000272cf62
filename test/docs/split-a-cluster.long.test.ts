import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { tempDir, writeIn } from '../cli/run-cli.js';
import { get, ServerProcess, tinyProfile, until } from '../cli/server-process.js';
import { freePorts } from '../free-ports.js';
import { GrpcClient } from '../live/frontend/grpc-client.js';
import { pageAt } from './pages.js';

/** Debian puts it where users other than root do not look. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
const hasHaproxy = spawnSync('haproxy', ['-v'], { env: ENV }).status === 0;

const SLO = { slo_ms: { int64_param: 20_000 } };
const INPUTS = [{ name: 'input', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [1, 2] } }];

it.skipIf(!hasHaproxy)(
  `the configuration of the page routes by model and survives a controller${hasHaproxy ? '' : ' (skipped: haproxy is not installed)'}`,
  { timeout: 300_000 },
  async () => {
    const [a, b] = [
      await startPartition(['resnet50', 'yolov8']),
      await startPartition(['bert-base', 'yolov8']),
    ];
    const front = await startFront([a, b]);
    const client = new GrpcClient(front.grpc, credentials.createInsecure());
    const infer = (model_name: string) =>
      client.call('ModelInfer', { model_name, inputs: INPUTS, parameters: SLO }).then(
        ({ model_name: answered }) => answered,
        ({ code }: { code: number }) => code,
      );

    for (const name of ['resnet50', 'bert-base', 'yolov8']) {
      expect(JSON.parse((await get(front.http, `/v2/models/${name}`)).text).name).toBe(name);
      expect(await infer(name)).toBe(name);
    }
    expect((await get(front.http, '/v2/models/other')).status).toBe(404);
    expect(await infer('other')).toBe(5);
    expect((await get(front.http, '/v2/health/ready')).status).toBe(200);

    await a.active.kill('SIGKILL');
    await until(async () => (await get(front.http, '/v2/models/resnet50/ready')).status === 200);
    await until(async () => (await infer('resnet50')) === 'resnet50');

    // Without any controller the partition's models are unavailable, and the others are not.
    await a.standby.kill('SIGKILL');
    await until(async () => (await get(front.http, '/v2/health/ready')).status === 503);
    expect(await get(front.http, '/v2/models/resnet50/ready')).toMatchObject({ status: 503 });
    expect(await infer('resnet50')).toBe(14);
    expect(await infer('bert-base')).toBe('bert-base');
    client.close();
  },
);

interface Partition {
  readonly active: ServerProcess;
  readonly standby: ServerProcess;
  /** HTTP and gRPC port of the active controller and of the standby. */
  readonly ports: readonly (readonly [http: number, grpc: number])[];
}

async function startPartition(models: readonly string[]): Promise<Partition> {
  const device = `simulated:${models.map((name) => tinyProfile(name)).join(',')}`;
  const worker = new ServerProcess(['worker', '--device', device, '--port', '0', '--metrics-port', 'off']);
  const { port } = await worker.ready();
  const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', 'off'];
  const args = ['controller', '--worker', `127.0.0.1:${port}`, ...ports];
  const active = new ServerProcess(args);
  await active.ready();
  const standby = new ServerProcess([...args, '--standby']);
  const listening = ({ log }: ServerProcess) => log.find(({ msg }) => msg === 'listening');
  await until(() => listening(standby) !== undefined);
  return {
    active,
    standby,
    ports: [active, standby].map((server) => [listening(server)!.http!, listening(server)!.grpc!]),
  };
}

/** Runs HAProxy with the files of the page, at addresses of this machine. */
async function startFront(partitions: readonly Partition[]) {
  const [http, grpc] = await freePorts(2);
  const dir = tempDir();
  const fileOf = (name: string) =>
    pageAt('docs/how-to/split-a-cluster.md').fences.find(({ file }) => file === name)!.code;
  const config = fileOf('haproxy.cfg')
    .replaceAll(/10\.0\.([12])\.([12]):800([01])/g, (_, partition, controller, port) => {
      const own = partitions[Number(partition) - 1]!.ports[Number(controller) - 1]!;
      return `127.0.0.1:${own[Number(port)]}`;
    })
    .replaceAll('0.0.0.0:8000', `127.0.0.1:${http}`)
    .replaceAll('0.0.0.0:8001', `127.0.0.1:${grpc}`);
  const path = writeIn(dir, 'haproxy.cfg', config);
  writeIn(dir, 'models.map', fileOf('models.map'));
  expect(spawnSync('haproxy', ['-c', '-f', path], { encoding: 'utf8', env: ENV })).toMatchObject({
    status: 0,
  });
  const child = spawn('haproxy', ['-db', '-f', join(dir, 'haproxy.cfg')], { stdio: 'ignore', env: ENV });
  const exited = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  // Until the first checks, standbys count as ready: each gets its turn.
  for (const model of ['resnet50', 'bert-base', 'yolov8']) {
    let inRow = 0;
    await until(async () => {
      const { status } = await get(http, `/v2/models/${model}/ready`).catch(() => ({ status: 0 }));
      inRow = status === 200 ? inRow + 1 : 0;
      return inRow >= 6;
    });
  }
  return { http, grpc };
}
