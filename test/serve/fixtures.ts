import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { createPolicyOf } from '../../src/config/create-policy.js';
import { profileFileName } from '../../src/config/onnx-model.js';
import { profileModel } from '../../src/config/profile.js';
import { readServerSettings } from '../../src/config/server-settings.js';
import { RemoteLink } from '../../src/live/controller/link/remote-link.js';
import { LocalLink } from '../../src/live/controller/link/worker-link.js';
import { replayJournal } from '../../src/live/journal/replay.js';
import type { WorkerModel } from '../../src/live/model.js';
import { optimizeModel } from '../../src/live/models/optimize.js';
import { type RepositoryModel, readModelFile, readRepository } from '../../src/live/models/repository.js';
import { serveMachine } from '../../src/live/worker/endpoint/worker-endpoint.js';
import { type LocalMachine, type MachineOptions, startMachine } from '../../src/live/worker/local-machine.js';
import { REAL_WORLD } from '../../src/live/world/real-world.js';
import { measureProfile } from '../../src/serve/profiles.js';
import { type Server, startServer } from '../../src/serve/server.js';
import type { ServerOptions } from '../../src/serve/server-options.js';
import { simulatedModel } from '../../src/serve/simulated-models.js';
import { tempDir } from '../cli/run-cli.js';
import { model } from '../core/fixtures.js';
import { PATIENT } from '../live/controller/link/fixtures.js';
import { HttpClient } from '../live/frontend/fixtures.js';
import { CPU, writeIn } from '../live/models/fixtures.js';
import { parseExposition } from '../live/observe/telemetry/exposition.js';
import { madeUpProfile } from '../made-up-profile.js';

export const PAGE_BYTES = 10_000_000;

/** Models of 2 pages with an input of 8 bytes and an output of 4. */
export function smallModels(
  count: number,
  timeScale: number,
  execMs: readonly number[] = [1, 2, 3],
): WorkerModel[] {
  return Array.from({ length: count }, (_, m) => {
    const execNs = execMs.map((ms) => ms * 1_000_000);
    const spec = model({ name: `model${m}`, loadNs: 2_000_000, execNs, inputBytes: 8, outputBytes: 4 });
    return simulatedModel(spec, timeScale);
  });
}

/** ONNX models by name, as they come from a repository. */
export async function fileModels(files: Readonly<Record<string, Uint8Array>>): Promise<WorkerModel[]> {
  const dir = tempDir();
  for (const [name, bytes] of Object.entries(files)) writeIn(dir, `${name}/1/model.onnx`, bytes);
  const found: WorkerModel[] = [];
  for (const model of await readRepository(dir)) {
    const { ortPath } = await optimizeModel(model.onnxPath, 'cpu');
    found.push(unmeasured({ ...model, batchSizes: model.signature.batched ? [1, 2, 4] : [1] }, ortPath));
  }
  return found;
}

/** A model whose INFERs take 1 ms by its profile, whatever they take. */
export function unmeasured(
  {
    name,
    version,
    signature,
    batchSizes,
  }: Pick<RepositoryModel, 'name' | 'version' | 'signature' | 'batchSizes'>,
  ortPath: string,
): WorkerModel {
  const batches = batchSizes.map((batch) => ({ batch, medianMs: 1 }));
  const profile = madeUpProfile({ weightsBytes: 1000, outputBytes: 8, batches });
  return { spec: profileModel(profile, name, PAGE_BYTES), signature, version, sloNs: null, ortPath };
}

/** Puts a model with its profile into a repository. Returns the path of its file. */
export async function putMeasured(
  repository: string,
  name: string,
  onnx: Uint8Array,
  settings = '',
): Promise<string> {
  const path = writeIn(repository, `${name}/1/model.onnx`, onnx);
  writeIn(repository, `${name}/config.yaml`, settings);
  const { profile } = await measureProfile(await readModelFile(path), CPU, { runs: 3 });
  writeIn(repository, `${name}/1/${profileFileName(CPU)}`, JSON.stringify(profile));
  return path;
}

type Machine = Pick<MachineOptions, 'devices' | 'models'> & Partial<MachineOptions>;

/** A link to a worker across the network, which ends with the test. */
export async function remoteLink(machineOptions: Machine): Promise<RemoteLink> {
  const machine = await startMachine({ pages: 6, pageBytes: PAGE_BYTES, ...machineOptions });
  onTestFinished(() => machine.close());
  const endpoint = await serveMachine(machine, { port: 0 });
  onTestFinished(() => endpoint.close());
  return new RemoteLink({ address: `localhost:${endpoint.port}`, ...PATIENT });
}

export interface Running {
  readonly server: Server;
  readonly machine: LocalMachine;
  readonly http: HttpClient;
  readonly metrics: HttpClient;
  readonly journal: string;
}

/** A server over a machine of this process; it ends with the test, if not before. */
export async function serve(
  machineOptions: Machine,
  overrides: readonly string[] = [],
  options: Partial<ServerOptions> = {},
): Promise<Running> {
  const machine = await startMachine({ pages: 6, pageBytes: PAGE_BYTES, ...machineOptions });
  onTestFinished(() => machine.close());
  const journal = join(tempDir(), 'run.journal');
  const server = await startServer({
    world: REAL_WORLD,
    links: [new LocalLink(machine)],
    settings: (await readServerSettings({ file: null, environment: [], overrides })).settings,
    host: '127.0.0.1',
    httpPort: 0,
    grpcPort: 0,
    metricsPort: 0,
    frontends: 1,
    frontend: { token: null, tls: null },
    journal,
    journalKeepBytes: null,
    serverVersion: '1.2.3',
    log: pino({ level: 'silent' }),
    gpuMemory: () => machine.memory(),
    ...options,
  });
  onTestFinished(() => server.close(0));
  await server.started;
  const port = (frontend: { readonly port: number } | null) => frontend?.port ?? 0;
  return {
    server,
    machine,
    http: new HttpClient(port(server.http)),
    metrics: new HttpClient(port(server.metrics)),
    journal,
  };
}

/** Own metrics of a server, without those of its process. */
export async function exposed({ metrics }: Pick<Running, 'metrics'>): Promise<Map<string, number>> {
  const { text } = await metrics.get('/metrics');
  return parseExposition(text.replace(/^(?!escapement_).*$/gm, ''));
}

/** A line of a log. */
interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

/** A log whose lines are kept. */
export function keptLog(level = 'info') {
  const lines: LogLine[] = [];
  const log = pino({ level, base: null }, { write: (line) => lines.push(JSON.parse(line)) });
  return { log, lines, messages: () => lines.map(({ msg }) => msg) };
}

export function simulated(gpus: number, timeScale: number) {
  return Array.from({ length: gpus }, () => ({ kind: 'simulated', timeScale }) as const);
}

/** The body of an infer request for one of `smallModels`, or several in one call. */
export function body(count = 1, sloMs?: number) {
  const data = Array.from({ length: 2 * count }, (_, i) => i);
  return {
    ...(sloMs === undefined ? {} : { parameters: { slo_ms: sloMs } }),
    inputs: [{ name: 'input', datatype: 'FP32', shape: [count, 2], data }],
  };
}

/** Replays the journal of a run that is over: with the same digest, and with so many requests. */
export async function expectReplay(journal: string, requests: number, digest?: string): Promise<void> {
  const replay = await replayJournal(journal, {
    createPolicy: ({ policy: { kind, options } }, context) => createPolicyOf({ kind, options })(context),
  });
  expect(replay).toMatchObject({ truncated: false, requests, digest: replay.recordedDigest });
  if (digest !== undefined) expect(replay.digest).toBe(digest);
}

/** Resolves when it is so; a test that waits in vain ends by its own time limit. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}
