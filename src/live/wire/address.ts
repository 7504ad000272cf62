import { EscapementError } from '../../base/errors.js';

/** `HOST:PORT` as gRPC and people write it; IPv6 addresses in brackets. */
export function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Throws `E_USAGE` unless `text` is `HOST:PORT`, of a worker or a controller; returns it for chaining. */
export function checkAddress(text: string, whose: 'worker' | 'controller' = 'worker'): string {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[2]);
  if (parts === null || port < 1 || port > 65535)
    throw new EscapementError('E_USAGE', `"${text}" is not a ${whose} address: write HOST:PORT`);
  return text;
}

/** Client that a connection counts for: one client usually has a whole /64 of IPv6 addresses. */
export function clientOf(address = ''): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1];
  const [head, tail] = address.split('::');
  const groups = head.split(':');
  if (tail !== undefined) while (groups.length < 4) groups.push('0');
  return groups.slice(0, 4).join(':');
}
