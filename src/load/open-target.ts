import { usageError } from '../base/errors.js';
import { describeModel, readyModels, type ServerApi, type ServerDescription } from './description.js';
import { GrpcApi, openGrpcTarget } from './grpc.js';
import { baseOf, HttpApi, openHttpTarget } from './http.js';
import { retrying } from './retrying-target.js';
import type { LoadTarget, TargetOptions } from './target.js';

interface Protocol {
  readonly ask: (url: URL, options: TargetOptions) => ServerApi;
  readonly open: (url: URL, options: TargetOptions, server: ServerDescription) => LoadTarget;
}

const HTTP: Protocol = {
  ask: (url, options) => new HttpApi(baseOf(url), options),
  open: (url, options, server) => openHttpTarget(baseOf(url), options, server),
};
const GRPC: Protocol = { ask: (url, options) => new GrpcApi(url, options), open: openGrpcTarget };

/** Protocols by the scheme of their address; the secure ones use TLS. */
const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  'http:': HTTP,
  'https:': HTTP,
  'grpc:': GRPC,
  'grpcs:': GRPC,
};

/**
 * Connects to an inference server. Throws `E_USAGE` for an invalid address, `E_SERVER` if the server cannot be reached,
 * is not ready or speaks another protocol, and `E_UNKNOWN_MODEL` if it lacks a model.
 */
export async function openTarget(address: string, options: TargetOptions): Promise<LoadTarget> {
  const { url, protocol } = parseAddress(address);
  const target = protocol.open(url, options, await describeServer(address, options));
  return options.retry === true ? retrying(target) : target;
}

/** Describes a server and its models `options.models`. Throws as `openTarget`. */
export function describeServer(address: string, options: TargetOptions): Promise<ServerDescription> {
  return asking(address, options, async (api) => {
    const server = await api.describe();
    const models: ServerDescription['models'][number][] = [];
    for (const model of options.models) models.push(await describeModel(api, model));
    return { ...server, models };
  });
}

/** Models that a server has ready; null if it does not list them. Throws as `openTarget`. */
export function listModels(address: string, options: TargetOptions): Promise<string[] | null> {
  return asking(address, options, async (api) => {
    await api.describe();
    return readyModels(await api.index());
  });
}

async function asking<T>(
  address: string,
  options: TargetOptions,
  ask: (api: ServerApi) => Promise<T>,
): Promise<T> {
  const { url, protocol } = parseAddress(address);
  const api = protocol.ask(url, options);
  return ask(api).finally(() => api.close());
}

function parseAddress(address: string): { url: URL; protocol: Protocol } {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url !== null && url.host !== '' && Object.hasOwn(PROTOCOLS, url.protocol))
    return { url, protocol: PROTOCOLS[url.protocol] };
  const what = 'write http://HOST:PORT, https://HOST:PORT, grpc://HOST:PORT or grpcs://HOST:PORT';
  throw usageError(`--url ${address}: ${what}`);
}
