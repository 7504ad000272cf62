import { X509Certificate } from 'node:crypto';
import type { Registry } from 'prom-client';
import { unixMsOf } from '../../../base/clock/wall-clock.js';
import { type Reading, readOnScrape } from './metrics.js';

/** Role of a certificate file. */
export type CertificateUse = 'server' | 'worker_authority' | 'controller_authority';

const MS_PER_S = 1000;

/** Expiry of certificates in use, and validity of their files. Without TLS there are no series. */
export class CertificateGauges {
  private readonly known = new Map<CertificateUse, { expiryMs: number | null; isWell: boolean }>();

  constructor(registry: Registry) {
    readOnScrape(registry, 'escapement_certificate_expiry_timestamp_seconds', () =>
      [...this.known].flatMap(([use, { expiryMs }]): Reading[] =>
        expiryMs === null ? [] : [[[use], expiryMs / MS_PER_S]],
      ),
    );
    readOnScrape(registry, 'escapement_certificate_last_reload_successful', () =>
      [...this.known].map(([use, { isWell }]): Reading => [[use], Number(isWell)]),
    );
  }

  /** Records the certificate in use, of a file with several the first. */
  uses(certificate: CertificateUse, pem: Buffer): void {
    this.known.set(certificate, { expiryMs: expiryOf(pem), isWell: true });
  }

  /** Records that the file is unusable: the certificate in use stays. */
  failed(certificate: CertificateUse): void {
    this.known.set(certificate, { expiryMs: this.known.get(certificate)?.expiryMs ?? null, isWell: false });
  }
}

/** Null if TLS accepts the file but it cannot be parsed here. */
function expiryOf(pem: Buffer): number | null {
  try {
    return unixMsOf(new X509Certificate(pem).validTo);
  } catch {
    return null;
  }
}
