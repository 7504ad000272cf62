import { describe, expect, it } from 'vitest';
import { tempDir } from '../cli/run-cli.js';
import { readTrace } from '../live/recording/trace-reader.js';
import { body, keptLog, type LogLine, type Running, serve, simulated, smallModels } from './fixtures.js';

const INFER = '/v2/models/model0/infer';
/** Met on a busy machine, too. */
const PATIENT_MS = 20_000;
/** Shorter than an INFER of these models. */
const IMPATIENT_MS = 0.01;

const FAILED = 'a request missed its SLO, failed or was cancelled';

const traceparent = (nth: number) => `00-${String(nth + 1).padStart(32, '0')}-00f067aa0ba902b7-01`;

/** A server whose log is kept. */
async function logging(level: string, settings: readonly string[] = []): Promise<[Running, LogLine[]]> {
  const { log, lines } = keptLog(level);
  return [await serve({ devices: simulated(1, 1), models: smallModels(1, 1) }, settings, { log }), lines];
}

/** One traced request in time, one that cannot be, and one of each without a trace. */
async function ask({ http }: Running): Promise<void> {
  const asked = [];
  for (const [nth, sloMs] of [PATIENT_MS, IMPATIENT_MS].entries()) {
    asked.push(await http.post(INFER, body(1, sloMs), { traceparent: traceparent(nth) }));
    asked.push(await http.post(INFER, body(1, sloMs)));
  }
  expect(asked.map(({ status }) => status === 200)).toEqual([true, true, false, false]);
}

describe('a request of a trace', () => {
  it('has its traceparent in a recording', async () => {
    const settings = [`runtime.recordingDir=${tempDir()}`, 'runtime.recording=true'];
    const [running] = await logging('silent', settings);
    await ask(running);
    const { json } = await running.metrics.post('/recording/stop');
    const requests = readTrace(json.file).spans.filter(({ begin }) => begin.cat === 'request');
    expect(requests.map(({ begin: { args } }) => [args.outcome === 'ok', args.traceparent])).toEqual([
      [true, traceparent(0)],
      [true, undefined],
      [false, traceparent(1)],
      [false, undefined],
    ]);
  });

  it('has a line in the log at level debug if it failed, as each request has', async () => {
    const [running, lines] = await logging('debug');
    await ask(running);
    const line = (request: number) => ({
      level: 20,
      time: expect.any(Number),
      request,
      model: 'model0',
      outcome: expect.stringMatching(/^(rejected|timeout)$/),
      latencyMs: expect.any(Number),
      msg: FAILED,
    });
    const failed = lines.filter(({ msg }) => msg === FAILED);
    expect(failed).toEqual([{ ...line(2), traceparent: traceparent(1) }, line(3)]);
  });

  it('has no line at level info', async () => {
    const [running, lines] = await logging('info');
    await ask(running);
    expect(lines.filter(({ msg }) => msg === FAILED)).toEqual([]);
  });
});
