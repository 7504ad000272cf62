import { X509Certificate } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { type Identity, newIdentity, noOpenssl } from '../serve/faults/identities.js';
import { tempDir, words } from './run-cli.js';
import { ServerProcess, tinyProfile, until } from './server-process.js';

it('certificates and authorities are replaced when their files change', async ({ skip }) => {
  skip(noOpenssl, 'openssl, which makes the certificates, is not installed');
  const [first, second, third] = [newIdentity(), newIdentity(), newIdentity()];
  const folder = tempDir();
  const [cert, key] = [join(folder, 'tls.pem'), join(folder, 'tls.key')];
  const put = (certOf: Identity, keyOf: Identity) => {
    copyFileSync(certOf.cert, cert);
    copyFileSync(keyOf.key, key);
  };
  put(first, first);
  const identity = ['--tls-cert', cert, '--tls-key', key];
  const startWorker = (port: number) => {
    const device = ['--device', `simulated:${tinyProfile()}`];
    return new ServerProcess(words`worker ${device} --port ${String(port)} --metrics-port 0 ${identity}`);
  };
  let worker = startWorker(0);
  const { port: workerPort = 0, metrics: workerMetrics = 0 } = await worker.ready();
  const controller = new ServerProcess([
    ...['controller', '--worker', `localhost:${workerPort}`, '--worker-ca', cert, ...identity],
    ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'],
  ]);
  const { http = 0, grpc = 0, metrics = 0 } = await controller.ready();
  const ports = [http, grpc, metrics, workerPort, workerMetrics];
  const present = async ({ certificate }: Identity) => {
    const wanted = new X509Certificate(certificate).fingerprint256;
    const seen = await Promise.all(ports.map(fingerprintOf));
    return seen.every((each) => each === wanted);
  };
  const says = (text: RegExp) => controller.log.filter(({ msg }) => text.test(msg)).length;
  expect(await present(first)).toBe(true);

  put(second, second);
  await until(() => present(second));

  // The authority, too: a worker that comes back is let in.
  await until(() => says(/--worker-ca: the files have changed; new connections/) === 1);
  await worker.kill('SIGKILL');
  const ups = says(/^worker .* is up/);
  worker = startWorker(workerPort);
  ports[4] = (await worker.ready()).metrics ?? 0;
  await until(() => says(/^worker .* is up/) > ups);

  put(third, second);
  await until(() => says(/--tls-cert and --tls-key: .* cannot be used, so the old ones stay in use/) === 1);
  expect(await present(second)).toBe(true);
  const expiryS = (identity: Identity) =>
    Date.parse(new X509Certificate(identity.certificate).validTo) / 1000;
  const wells = () => metricsOf(metrics, 'escapement_certificate_last_reload_successful');
  const expiries = () => metricsOf(metrics, 'escapement_certificate_expiry_timestamp_seconds');
  // The authority is the certificate alone, which is one.
  expect((await wells()).server).toBe(0);
  expect((await expiries()).server).toBe(expiryS(second));

  put(second, second);
  const { validTo } = new X509Certificate(second.certificate);
  await until(() =>
    controller.log.some(
      (line) => /the files are usable again/.test(line.msg) && JSON.stringify(line).includes(validTo),
    ),
  );

  put(third, third);
  await until(() => present(third));
  await until(async () => (await expiries()).worker_authority === expiryS(third));
  expect(await wells()).toEqual({ server: 1, worker_authority: 1 });
  expect((await expiries()).server).toBe(expiryS(third));
  expect(says(/cannot be used/)).toBe(1);
  for (const each of [controller, worker]) expect(await each.kill('SIGTERM')).toBe(0);
});

/** Values of a metric by certificate. */
async function metricsOf(port: number, name: string): Promise<Record<string, number>> {
  const text = await new Promise<string>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/metrics', rejectUnauthorized: false, agent: false };
    get(options, async (response) => resolve((await response.toArray()).join(''))).on('error', reject);
  });
  const found = text.matchAll(new RegExp(`^${name}\\{certificate="(\\w+)"\\} (\\S+)$`, 'gm'));
  return Object.fromEntries([...found].map(([, certificate, value]) => [certificate, Number(value)]));
}

/** Of the certificate that a port shows. */
function fingerprintOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] };
    const socket = connect(options, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
