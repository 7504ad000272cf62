import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US } from '../../../base/units.js';
import { Refusal, shown } from '../refusal.js';

const UNITS: Readonly<Record<string, number>> = {
  H: NS_PER_HOUR,
  M: NS_PER_MINUTE,
  S: NS_PER_S,
  m: NS_PER_MS,
  u: NS_PER_US,
  n: 1,
};

/** How long a client waits for its call, ns: the header `grpc-timeout`. Throws a refusal unless it is one. */
export function timeoutNs(header: string | undefined): number {
  if (header === undefined) return Number.POSITIVE_INFINITY;
  const digits = header.slice(0, -1);
  const unitNs = UNITS[header.slice(-1)];
  if (unitNs !== undefined && /^\d{1,8}$/.test(digits)) return Number(digits) * unitNs;
  throw new Refusal(
    'invalid',
    `grpc-timeout: expected up to eight digits and one of H, M, S, m, u, n, got ${shown(header)}`,
  );
}
