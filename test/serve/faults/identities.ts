import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { tempDir } from '../../cli/run-cli.js';

export const noOpenssl = spawnSync('openssl', ['version']).error !== undefined;

/** Files of a certificate for localhost and its key. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
  readonly certificate: Buffer;
}

/** Signed by itself, or by `authority`; valid for so many days from now, which may be negative. */
export function newIdentity(days = 2, authority?: Identity): Identity {
  const folder = tempDir();
  const [cert, key, asked] = ['cert.pem', 'key.pem', 'request.pem'].map((name) => join(folder, name));
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const authorized = authority === undefined ? ['-addext', 'basicConstraints=critical,CA:TRUE'] : [];
  openssl('req', ...curve, ...name, ...authorized, '-out', asked);
  const signer =
    authority === undefined
      ? ['-key', key]
      : ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial'];
  openssl(
    ...['x509', '-req', '-in', asked, '-out', cert, '-days', String(days)],
    ...['-copy_extensions', 'copy', ...signer],
  );
  return { cert, key, certificate: readFileSync(cert) };
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'ignore' });
}

export function getEncrypted(port: number, path: string, { certificate }: Identity): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: 'localhost', port, path, ca: certificate, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve(text));
    });
    asked.on('error', reject).end();
  });
}
