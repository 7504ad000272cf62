import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { echoModel, FakeService } from './fake-service.js';
import { openGrpc, openHttp } from './fixtures.js';

const MODEL = echoModel('m', false, [['x', 'FP32', [1]]]);
const TIMEOUT_MS = 1000;
/** The default would take ten. */
const PATIENCE_MS = 6000;

describe.skipIf(noOpenssl).each([
  ['HTTP', openHttp],
  ['gRPC', openGrpc],
])('a TLS handshake over %s (needs openssl for a certificate)', (_, open) => {
  it('that does not begin is closed in time', async () => {
    const options = { tls: selfSigned(), handshakeTimeoutMs: TIMEOUT_MS };
    const { port } = await open(new FakeService([MODEL]), options);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    await once(socket, 'connect');
    const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')));
    const late = new Promise((resolve) => setTimeout(() => resolve('open'), PATIENCE_MS));
    onTestFinished(() => void socket.destroy());
    expect(await Promise.race([closed, late])).toBe('closed');
  });
});
