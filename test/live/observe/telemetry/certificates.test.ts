import { X509Certificate } from 'node:crypto';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { CertificateGauges } from '../../../../src/live/observe/telemetry/certificates.js';
import { noOpenssl, selfSigned } from '../../../self-signed.js';
import { parseExposition } from './exposition.js';

const EXPIRY = 'escapement_certificate_expiry_timestamp_seconds{certificate="server"}';
const IS_WELL = 'escapement_certificate_last_reload_successful{certificate="server"}';

async function read(registry: Registry) {
  return parseExposition(await registry.metrics());
}

it('shows when the certificate in use expires, also while its files cannot be used', async ({ skip }) => {
  skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
  const registry = new Registry();
  const gauges = new CertificateGauges(registry);
  expect((await read(registry)).size).toBe(0);
  const { cert } = selfSigned();
  const expiryS = Date.parse(new X509Certificate(cert).validTo) / 1000;
  gauges.uses('server', cert);
  expect(Object.fromEntries(await read(registry))).toEqual({ [EXPIRY]: expiryS, [IS_WELL]: 1 });
  gauges.failed('server');
  expect(Object.fromEntries(await read(registry))).toEqual({ [EXPIRY]: expiryS, [IS_WELL]: 0 });
  gauges.uses('server', cert);
  expect((await read(registry)).get(IS_WELL)).toBe(1);
  // What TLS may take and this cannot read has no date, and not that of the one before.
  gauges.uses('server', Buffer.from('a store of another kind'));
  expect(Object.fromEntries(await read(registry))).toEqual({ [IS_WELL]: 1 });
});
