import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { live } from '../../src/run/live.js';
import { run } from '../../src/run/run.js';
import { tempDir } from '../cli/run-cli.js';
import { type ReadTrace, readTrace, type Slice } from '../live/recording/trace-reader.js';
import { CPU, type RealModel, realModel } from '../live/worker/real-models.js';
import { PAGE_BYTES, type Running, remoteLink, serve } from './fixtures.js';

const folder = mkdtempSync(join(tmpdir(), 'escapement-timeline-'));
/** Slow machines must not miss windows. */
const PATIENT = ['slo=20s'];
const NAMES = ['mlp', 'resnet18'] as const;
let models: RealModel[];

beforeAll(async () => {
  models = await Promise.all(NAMES.map((name) => realModel(name, 32, folder)));
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const machineOptions = () => ({
  devices: [CPU],
  models: models.map(({ worker }) => worker),
  pages: 20,
  pageBytes: PAGE_BYTES,
});

/** Requests for both models, two at a time. */
async function ask({ http }: Running, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const answers = await Promise.all(
      models.map(({ worker: { spec, signature } }) => {
        const [{ name, shape, bytes }] = signature.inputs;
        const data = Array.from({ length: bytes / 4 }, (_, n) => Math.sin(n));
        const inputs = [{ name, datatype: 'FP32', shape: [1, ...shape], data }];
        return http.post(`/v2/models/${spec.name}/infer`, { inputs });
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  }
}

/** Slices of INFERs and LOADs. */
function actionsOf({ tracks }: ReadTrace, cat: string): Slice[] {
  return [...tracks.values()].flat().filter(({ event }) => event.cat === cat);
}

/** That every action that went well began in its window, and that arrows lead to it. */
function expectPlanned(trace: ReadTrace, errorMs = 0): void {
  const windows = new Map(trace.spans.map((span) => [`${span.begin.cat} ${span.begin.id}`, span]));
  const ran = [...actionsOf(trace, 'INFER'), ...actionsOf(trace, 'LOAD')];
  for (const { event } of ran) {
    const { action, beginMs, earliestMs, latestMs = Number.POSITIVE_INFINITY } = event.args;
    expect(beginMs).toBeGreaterThanOrEqual(earliestMs - errorMs);
    expect(beginMs).toBeLessThanOrEqual(latestMs + errorMs);
    const window = windows.get(`${event.cat === 'INFER' ? 'EXEC' : 'WEIGHTS'} window ${action}`);
    expect(window?.begin.ts).toBeLessThanOrEqual(event.ts + errorMs * 1000);
    expect(window?.end.ts).toBeGreaterThanOrEqual(event.ts - errorMs * 1000);
  }
  for (const { from, to } of trace.arrows) {
    expect(trace.threads.get(from.event.tid)).toBe('decisions');
    expect(from.beginNs).toBeLessThan(to.beginNs);
  }
}

describe('a timeline of a server', () => {
  it('is written when it is asked for, with the stages of INFERs and arrows from decisions', async () => {
    const recordingDir = join(tempDir(), 'recordings');
    const running = await serve(machineOptions(), [...PATIENT, `runtime.recordingDir=${recordingDir}`]);
    const { metrics, server } = running;
    await ask(running, 2);
    expect((await metrics.post('/recording/stop')).status).toBe(409);
    expect((await metrics.post('/recording/start')).status).toBe(200);
    await ask(running, 30);
    const { status, json } = await metrics.post('/recording/stop');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      file: expect.stringMatching(/recording-[-\d]{23}\.json$/),
      dropped: expect.any(Number),
    });

    const trace = readTrace(json.file);
    expect(trace.events).toHaveLength(json.events);
    expect(trace.facts).toMatchObject({ escapement: '1.2.3', policy: 'escapement' });
    expect([...trace.processes.values()]).toEqual([
      'controller',
      expect.stringMatching(/^GPU 0 \(worker local, cpu/),
    ]);
    const infers = actionsOf(trace, 'INFER');
    const arrowsTo = new Set(trace.arrows.map(({ to }) => to.event.args.action));
    expect(infers.every(({ event }) => arrowsTo.has(event.args.action))).toBe(true);
    expect(infers.every(({ children }) => children.some(({ event }) => event.name === 'run'))).toBe(true);
    expectPlanned(trace);
    const answered = trace.spans.filter(({ begin }) => begin.name === 'request ok');
    expect(answered).toHaveLength(60);
    const { arrived, sent } = sums(trace);
    expect(arrived).toBe(60);
    expect(sent).toBe(infers.length);
    await server.close();
    expect(readdirSync(recordingDir)).toHaveLength(1);
  });

  it('puts workers of other machines on the same clock', async () => {
    const recordingDir = tempDir();
    const links = await Promise.all([remoteLink(machineOptions()), remoteLink(machineOptions())]);
    const settings = [
      `runtime.recordingDir=${recordingDir}`,
      'runtime.recording=true',
      'policy={kind: fifo}',
    ];
    const running = await serve(machineOptions(), ['slo=20s', ...settings], { links });
    await ask(running, 25);
    const { json } = await running.metrics.post('/recording/stop');
    const trace = readTrace(json.file);
    expect([...trace.processes.values()].slice(1)).toEqual(
      links.map(({ name }, gpu) => expect.stringMatching(`^GPU ${gpu} \\(worker ${name}, cpu`)),
    );
    const errorsUs = [...String(trace.facts.clock).matchAll(/ by (\d+) µs/g)].map(([, us]) => Number(us));
    expect(errorsUs).toHaveLength(2);
    const infers = actionsOf(trace, 'INFER');
    expect(new Set(infers.map(({ event }) => event.pid)).size).toBe(2);
    expect(trace.arrows.length).toBeGreaterThan(0);
  });
});

it('an experiment that runs live leaves its timeline with its results', async () => {
  const outDir = tempDir();
  const text = `name: recorded
cluster: { gpus: 1, pages: 60 }
models: { kind: fit, name: model, parameters: 10M, copies: 4 }
workload: { kind: poisson, rate: 100/s, duration: 500ms }
policy: { kind: clockwork, latestDelta: 20s }
slo: 20s
runtime: { recording: true }
`;
  const experiment = await parseExperiment(text, 'recorded.yaml', []);
  const { live: report, result } = await run(experiment, live(), { outDir });
  expect(report?.recording).toMatchObject({ file: join(outDir, 'recording.json'), dropped: 0 });
  const trace = readTrace(join(outDir, 'recording.json'));
  expect(trace.facts).toMatchObject({ experiment: 'recorded' });
  expect(trace.spans.filter(({ begin }) => begin.cat === 'request')).toHaveLength(
    result.summary.requests.offered,
  );
  expect(existsSync(join(outDir, 'recording.json.partial'))).toBe(false);
});

/** What all decisions took in and gave out. */
function sums({ tracks, threads }: ReadTrace): Record<string, number> {
  const total: Record<string, number> = {};
  for (const [tid, slices] of tracks) {
    if (threads.get(tid) !== 'decisions') continue;
    for (const { event } of slices) {
      for (const [key, count] of Object.entries(event.args)) total[key] = (total[key] ?? 0) + Number(count);
    }
  }
  return total;
}
