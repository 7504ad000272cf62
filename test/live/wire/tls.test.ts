import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { connectTo, infer, serve } from '../controller/link/fixtures.js';

type Identity = ReturnType<typeof selfSigned>;

let ours: Identity;
let theirs: Identity;

beforeAll(() => {
  if (noOpenssl) return;
  ours = selfSigned();
  theirs = selfSigned();
});

describe('an encrypted stream', () => {
  it('works with the right authority and token', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const { server } = await serve({ tls: ours, token: 'secret' });
    const { worker, events } = connectTo(server.port, { tls: { ca: ours.cert }, token: 'secret' });
    await events.next('up');
    worker.send([infer(1)]);
    expect((await events.next('result')).result.id).toBe(1);
  });

  it("is refused by a controller that doesn't know the authority", async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const { machine, server } = await serve({ tls: theirs });
    const complaint = await complaintOf(server.port, { tls: { ca: ours.cert } });
    expect(complaint).toContain('certificate');
    await complaintOf(server.port, { tls: {} });
    expect(machine.quiesces).toBe(0);
  });

  it('is not opened by one that does not encrypt, nor by garbage', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const { machine, server } = await serve({ tls: ours });
    await complaintOf(server.port, {});
    const socket = connect(server.port, '127.0.0.1', () => socket.end('\x16\x03\x01 no handshake'));
    socket.on('error', () => {});
    await new Promise((resolve) => socket.resume().once('close', resolve));
    expect(machine.quiesces).toBe(0);
    await connectTo(server.port, { tls: { ca: ours.cert } }).events.next('up');
  });
});

/** The first line that a link has for the operator. */
function complaintOf(port: number, options: Parameters<typeof connectTo>[1]): Promise<string> {
  return new Promise((resolve) => {
    connectTo(port, { ...options, log: resolve });
  });
}
