import { X509Certificate } from 'node:crypto';
import { Gauge, type Registry } from 'prom-client';
import { unixMsOf } from '../../../base/clock/wall-clock.js';

/** Whose certificate a file holds. */
export type CertificateUse = 'server' | 'worker_authority' | 'controller_authority';

const MS_PER_S = 1000;

/** When certificates in use expire, and whether what lies in their files could be used. Without TLS there are no series. */
export class CertificateGauges {
  private readonly expiry: Gauge;
  private readonly isWell: Gauge;

  constructor(registry: Registry) {
    const own = { labelNames: ['certificate'], registers: [registry] };
    this.expiry = new Gauge({
      ...own,
      name: 'escapement_certificate_expiry_timestamp_seconds',
      help: 'When the certificate in use expires, in Unix time',
    });
    this.isWell = new Gauge({
      ...own,
      name: 'escapement_certificate_last_reload_successful',
      help: '1 if the files of the certificate hold what is in use, 0 if they cannot be used',
    });
  }

  /** This is in use now, and in its file. Of several certificates in a file the first counts. */
  uses(certificate: CertificateUse, pem: Buffer): void {
    this.isWell.set({ certificate }, 1);
    const expiryMs = expiryOf(pem);
    if (expiryMs === null) this.expiry.remove({ certificate });
    else this.expiry.set({ certificate }, expiryMs / MS_PER_S);
  }

  /** The file cannot be used: what was in use stays. */
  failed(certificate: CertificateUse): void {
    this.isWell.set({ certificate }, 0);
  }
}

/** Null where the file holds what TLS takes and this cannot read. */
function expiryOf(pem: Buffer): number | null {
  try {
    return unixMsOf(new X509Certificate(pem).validTo);
  } catch {
    return null;
  }
}
