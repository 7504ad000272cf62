import { expect, it } from 'vitest';
import { tempDir } from '../cli/run-cli.js';
import { readTrace } from '../live/recording/trace-reader.js';
import { body, serve, simulated, smallModels } from './fixtures.js';

const INFER = '/v2/models/model0/infer';
/** Met on a busy machine, too. */
const PATIENT_MS = 20_000;
/** Shorter than an INFER of these models. */
const IMPATIENT_MS = 0.01;

it('a request of a trace has its traceparent in a recording', async () => {
  const settings = [`runtime.recordingDir=${tempDir()}`, 'runtime.recording=true'];
  const { http, metrics } = await serve({ devices: simulated(1, 1), models: smallModels(1, 1) }, settings);
  const traceparent = `00-${'1'.padStart(32, '0')}-00f067aa0ba902b7-01`;
  const expected = [];
  for (const sloMs of [PATIENT_MS, IMPATIENT_MS])
    for (const headers of [{ traceparent }, {}]) {
      const { status } = await http.post(INFER, body(1, sloMs), headers);
      expect(status === 200).toBe(sloMs === PATIENT_MS);
      expected.push([status === 200, (headers as { traceparent?: string }).traceparent]);
    }
  const { json } = await metrics.post('/recording/stop');
  const requests = readTrace(json.file).spans.filter(({ begin }) => begin.cat === 'request');
  expect(requests.map(({ begin: { args } }) => [args.outcome === 'ok', args.traceparent])).toEqual(expected);
});
