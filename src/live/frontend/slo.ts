import { NS_PER_HOUR, NS_PER_MS, NS_PER_US } from '../../base/units.js';
import type { ServedModel } from '../model.js';
import { ApiError, shown } from './api-error.js';

/** A day: more than any client waits, and far from where times stop being exact. */
const MOST_NS = 24 * NS_PER_HOUR;

/**
 * SLO of one call, ns: its parameter `slo_ms`, or `timeout` in µs, or the model's, or the server's. Null is as if
 * absent, and so is a `timeout` of 0, which clients send by default. Throws an `ApiError` where a parameter is no such time.
 */
export function requestSloNs(
  sloMs: unknown,
  timeoutUs: unknown,
  model: ServedModel,
  defaultSloNs: number,
): number {
  if (sloMs !== undefined && sloMs !== null) return checked('slo_ms', sloMs, NS_PER_MS);
  if (timeoutUs !== undefined && timeoutUs !== null && timeoutUs !== 0)
    return checked('timeout', timeoutUs, NS_PER_US);
  return model.sloNs ?? defaultSloNs;
}

function checked(parameter: string, value: unknown, unitNs: number): number {
  const ns = typeof value === 'number' ? Math.round(value * unitNs) : 0;
  if (ns >= 1 && ns <= MOST_NS) return ns;
  throw new ApiError(
    'invalid',
    `parameter ${parameter}: expected a number above 0 and up to ${MOST_NS / unitNs}, got ${shown(value)}`,
  );
}
