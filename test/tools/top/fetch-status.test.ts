import { describe, expect, it } from 'vitest';
import { fetchStatus } from '../../../src/tools/top/fetch-status.js';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { clusterStatus } from './fixtures.js';
import { statusServer } from './status-server.js';

describe('asking a controller for its status', () => {
  const answered = async (status: number, body: string) => {
    const { url } = await statusServer(() => ({ status, body }));
    return fetchStatus(url);
  };

  it('gives what it says', async () => {
    const status = clusterStatus(2, 3);
    expect(await answered(200, JSON.stringify(status))).toEqual(status);
  });

  it.each([
    [404, 'only /metrics are here', /answers 404 to GET \/status: pass the metrics port/],
    [200, '<html>hello</html>', /is not a controller: it answers "<html>hello<\/html>"/],
    [200, '{"version":5,"gpus":[]}', /is not a controller/],
    [200, '[]', /is not a controller/],
    [200, 'null', /is not a controller/],
    [200, JSON.stringify({ ...clusterStatus(1, 1), version: 6 }), /of another version \(status 6\)/],
  ])('refuses what is not a controller (%i %s)', async (status, body, message) => {
    await expect(answered(status, body)).rejects.toMatchObject({
      code: 'E_SERVER',
      message: expect.stringMatching(message),
    });
  });

  it('believes the certificate of an authority that it is given, or any', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const tls = selfSigned();
    const status = clusterStatus(1, 1);
    const { url } = await statusServer(() => ({ status: 200, body: JSON.stringify(status) }), 0, tls);
    expect(await fetchStatus(url, { ca: tls.cert })).toEqual(status);
    expect(await fetchStatus(url, { insecure: true })).toEqual(status);
    await expect(fetchStatus(url)).rejects.toMatchObject({
      code: 'E_SERVER',
      message: expect.stringMatching(/cannot be reached \(self-signed certificate\): .*--ca/),
    });
  });

  it('says where no server answers, on one line', async () => {
    const { url, close } = await statusServer(() => ({ status: 200, body: '' }));
    await close();
    const refused = fetchStatus(url);
    await expect(refused).rejects.toMatchObject({
      code: 'E_SERVER',
      message: `${url} cannot be reached (connect ECONNREFUSED ${new URL(url).host}): pass the metrics port of a controller (8002 unless --metrics-port changes it)`,
    });
  });
});
