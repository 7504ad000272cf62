import { EscapementError } from '../base/errors.js';
import type { ServerDescription } from './description.js';
import { describeGrpcServer, listGrpcModels } from './grpc-api.js';
import { openGrpcTarget } from './grpc-target.js';
import { describeHttpServer, listHttpModels } from './http-api.js';
import { baseOf, openHttpTarget } from './http-target.js';
import { RetryingTarget } from './retrying-target.js';
import type { LoadTarget, TargetOptions } from './target.js';

interface Protocol {
  readonly open: (url: URL, options: TargetOptions) => Promise<LoadTarget>;
  readonly describe: (url: URL, options: TargetOptions) => Promise<ServerDescription>;
  readonly list: (url: URL, options: TargetOptions) => Promise<string[] | null>;
}

const HTTP: Protocol = {
  open: openHttpTarget,
  describe: (url, options) => describeHttpServer(baseOf(url), options, true),
  list: (url, options) => listHttpModels(baseOf(url), options),
};
const GRPC: Protocol = {
  open: openGrpcTarget,
  describe: (url, options) => describeGrpcServer(url, options, true),
  list: listGrpcModels,
};

/** Protocols by the scheme of their address; the secure ones use TLS. */
const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  'http:': HTTP,
  'https:': HTTP,
  'grpc:': GRPC,
  'grpcs:': GRPC,
};

/** Connects to an inference server. Throws `E_USAGE` for an invalid address, and the errors of the protocol. */
export async function openTarget(address: string, options: TargetOptions): Promise<LoadTarget> {
  const { url, protocol } = parseAddress(address);
  const target = await protocol.open(url, options);
  return options.retry === true ? new RetryingTarget(target) : target;
}

/** Asks a server about itself and `options.models`. Throws as `openTarget`. */
export async function describeServer(address: string, options: TargetOptions): Promise<ServerDescription> {
  const { url, protocol } = parseAddress(address);
  return protocol.describe(url, options);
}

/** Models that a server has ready; null if it does not list them. Throws as `openTarget`. */
export async function listModels(address: string, options: TargetOptions): Promise<string[] | null> {
  const { url, protocol } = parseAddress(address);
  return protocol.list(url, options);
}

function parseAddress(address: string): { url: URL; protocol: Protocol } {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url !== null && url.host !== '' && Object.hasOwn(PROTOCOLS, url.protocol))
    return { url, protocol: PROTOCOLS[url.protocol] };
  throw new EscapementError(
    'E_USAGE',
    `--url ${address}: write http://HOST:PORT, https://HOST:PORT, grpc://HOST:PORT or grpcs://HOST:PORT`,
  );
}
