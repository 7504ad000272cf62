import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '../../src/base/units.js';
import type { FrontendOptions } from '../../src/live/frontend/frontend.js';
import type { Reply } from '../../src/load/reply.js';
import type { Done, TargetOptions } from '../../src/load/target.js';
import { echoModel, FakeService } from '../live/frontend/fake-service.js';
import { openGrpc, openHttp } from '../live/frontend/fixtures.js';
import { noOpenssl, selfSigned } from '../self-signed.js';
import { open as openTo, send } from './fixtures.js';

const FRONTENDS = { http: openHttp, grpc: openGrpc };

const openService = () =>
  new FakeService([
    echoModel('tiny', true, [['x', 'FP32', [4]]]),
    echoModel('image', true, [
      ['image', 'FP16', [3, 320, 320]],
      ['scale', 'FP64', [1]],
      ['mask', 'BOOL', [5]],
    ]),
    echoModel('texts', false, [['question', 'BYTES', [-1, 2]]]),
  ]);

const open = (url: string, options: Partial<TargetOptions> = {}) =>
  openTo({ url }, { models: ['tiny', 'image'], ...options });

const replyTo = (send: (done: Done) => void) =>
  new Promise<Reply | undefined>((resolve) => send((_, reply) => resolve(reply)));

describe.each(Object.entries(FRONTENDS))('the %s frontend of escapement', (scheme, openFrontend) => {
  it('takes requests with their SLO and inputs', async () => {
    const service = openService();
    const { port } = await openFrontend(service);
    const target = await open(`${scheme}://127.0.0.1:${port}`);
    expect(
      await Promise.all([send(target, { sloNs: 12_500_000 }), send(target, { model: 1, sloNs: 30_000_000 })]),
    ).toEqual([0, 0]);
    const requests = [...service.requests].sort((a, b) => a.model - b.model);
    expect(requests.map(({ model, sloNs }) => [model, sloNs])).toEqual([
      [0, 12_500_000],
      [1, 30_000_000],
    ]);
    expect(requests.map(({ inputs }) => inputs.map(({ length }) => length))).toEqual([
      [16],
      [3 * 320 * 320 * 2, 8, 5],
    ]);
  });

  it('takes requests of several rows, and says what came back', async () => {
    const service = openService();
    const { port } = await openFrontend(service);
    const address = `${scheme}://127.0.0.1:${port}`;
    const rows = [1, 4];
    const target = await open(address, { models: ['tiny', 'tiny'], rows, keepsAnswers: true });
    for (const [model, count] of rows.entries()) {
      const reply = await replyTo((done) => target.send({ model, sloNs: NS_PER_S }, done));
      expect(reply?.outputs?.()).toMatchObject([{ name: 'out-x', datatype: 'FP32', shape: [count, 4] }]);
    }
    expect(service.requests.map(({ inputs }) => inputs[0].length)).toEqual(
      // Rows are requests of their own to the scheduler.
      new Array(5).fill(16),
    );
  });

  it('encrypts, for clients that check its certificate and for those that do not', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const tls = selfSigned();
    const { port } = await openFrontend(openService(), { tls } as Partial<FrontendOptions>);
    const address = `${scheme}s://127.0.0.1:${port}`;
    const checked = await open(address, { ca: tls.cert });
    const unchecked = await open(address, { insecure: true });
    expect(await Promise.all([send(checked, { model: 1 }), send(unchecked, { model: 1 })])).toEqual([0, 0]);
    await expect(open(address)).rejects.toMatchObject({
      code: 'E_SERVER',
      message: expect.stringContaining('certificate'),
    });
  });
});
