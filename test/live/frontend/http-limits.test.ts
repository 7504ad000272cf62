import { describe, expect, it } from 'vitest';
import { echoModel, FakeService } from './fake-service.js';
import { openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const X = tensor('x', 'FP32', [1, 4], [1, 2, 3, 4]);

describe('the limit of JSON', () => {
  it('is separate from that of the body', async () => {
    const body = JSON.stringify({ inputs: [X] });
    const limits = { maxBodyBytes: 10_000, maxJsonBytes: body.length };
    const { http } = await openHttp(new FakeService([MLP]), limits);
    expect((await http.post('/v2/models/mlp/infer', body)).status).toBe(200);
    expect(await http.post('/v2/models/mlp/infer', `${body} `)).toMatchObject({
      status: 413,
      json: {
        error: `the JSON has ${body.length + 1} bytes, of at most ${body.length}: send large tensors as binary data`,
      },
    });
  });

  it('counts only the JSON of a body with binary tensors', async () => {
    const head = JSON.stringify({
      inputs: [{ ...X, data: undefined, parameters: { binary_data_size: 16 } }],
    });
    const { http } = await openHttp(new FakeService([MLP]), { maxJsonBytes: head.length });
    const headers = { 'inference-header-content-length': String(head.length) };
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(16)]);
    expect((await http.post('/v2/models/mlp/infer', body, headers)).status).toBe(200);
  });
});
