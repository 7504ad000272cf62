import { EscapementError } from '../base/errors.js';
import { openGrpcTarget } from './grpc-target.js';
import { openHttpTarget } from './http-target.js';
import { RetryingTarget } from './retrying-target.js';
import type { LoadTarget, TargetOptions } from './target.js';

/** Opens each protocol of a server by the scheme of its address; the secure ones use TLS. */
const OPENERS: Readonly<Record<string, (url: URL, options: TargetOptions) => Promise<LoadTarget>>> = {
  'http:': openHttpTarget,
  'https:': openHttpTarget,
  'grpc:': openGrpcTarget,
  'grpcs:': openGrpcTarget,
};

/**
 * Connects to an inference server. Throws `E_USAGE` for an invalid address, and what the protocol's own function
 * throws.
 */
export async function openTarget(address: string, options: TargetOptions): Promise<LoadTarget> {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url !== null && url.host !== '' && Object.hasOwn(OPENERS, url.protocol)) {
    const target = await OPENERS[url.protocol](url, options);
    return options.retry === true ? new RetryingTarget(target) : target;
  }
  throw new EscapementError(
    'E_USAGE',
    `--url ${address}: write http://HOST:PORT, https://HOST:PORT, grpc://HOST:PORT or grpcs://HOST:PORT`,
  );
}
