import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { discover } from '../../../src/tools/conform/discover.js';
import { shown } from '../../../src/tools/conform/plain.js';
import { ResponseReader } from '../../../src/tools/conform/wire/response-reader.js';

/** A server that gives the same answer to everything of a kind. */
async function serve(inputs: unknown): Promise<URL> {
  const server = createServer((request, response) => {
    const isModel = request.url?.includes('/models/') === true;
    const answer = { name: 'a', version: '1', versions: ['1'], platform: 'x', extensions: [], inputs };
    response.end(JSON.stringify(isModel ? { ...answer, outputs: [] } : answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

describe('a server that is asked whether it conforms', () => {
  it.each([
    ['a tensor larger than memory', [{ name: 'x', datatype: 'FP32', shape: [1e9, 1e9] }]],
    ['levels without end', JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`)],
  ])('may describe what cannot be, which is said: %s', async (_, inputs) => {
    const endpoint = {
      url: await serve(inputs),
      grpc: null,
      token: undefined,
      ca: undefined,
      insecure: false,
      timeoutMs: 5000,
      maxAnswerBytes: 1_000_000,
    };
    await expect(discover(endpoint, 'a')).rejects.toMatchObject({ code: 'E_SERVER' });
  });

  it('may send provisional answers by the hundred thousand', () => {
    const reader = new ResponseReader(10_000_000);
    reader.push(Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(200_000)));
    expect(reader.next('GET', false)).toBeNull();
    reader.push(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx'));
    expect(reader.next('GET', false)).toMatchObject({ status: 200 });
  });

  it('may send JSON that is too deep to show', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(shown(deep)).toBe('a value with too many levels to show');
  });
});
