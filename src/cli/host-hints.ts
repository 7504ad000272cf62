import { existsSync } from 'node:fs';
import type { Logger } from 'pino';

/** Says who reaches a process that listens at `host`, where that may come as a surprise. */
export function hintAtHost(host: string, token: string | null, log: Logger): void {
  const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.');
  if (!isLocal && token === null) {
    log.warn(
      `everybody who reaches ${host} may use this process and change what it serves: add --token-file FILE and TLS, or let only trusted machines reach its ports`,
    );
  } else if (isLocal && isInContainer()) {
    log.info(`only clients in this container reach ${host}: add --host 0.0.0.0 to serve others`);
  }
}

function isInContainer(): boolean {
  const { KUBERNETES_SERVICE_HOST, container } = process.env;
  const isNamed = KUBERNETES_SERVICE_HOST !== undefined || container !== undefined;
  return isNamed || CONTAINER_FILES.some((file) => existsSync(file));
}

const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv'];
