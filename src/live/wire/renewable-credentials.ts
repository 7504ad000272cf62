import { ServerCredentials } from '@grpc/grpc-js';
import type { ServerTls } from './credentials.js';

/** Encryption whose certificate can be replaced while connections go on: those that come later get the new one. */
export class RenewableCredentials extends ServerCredentials {
  constructor({ cert, key }: ServerTls) {
    super({}, { cert, key });
  }

  renew({ cert, key }: ServerTls): void {
    this.updateSecureContextOptions({ cert, key });
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
