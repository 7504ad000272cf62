import type { FrontOptions } from './front-options.js';

const SERVICE = '/inference.GRPCInferenceService';
/** Field of the messages that has the name of the model. */
const MODEL_FIELD = 1;
/** The same where the first field is the name of the repository. */
const REPOSITORY_FIELD = 2;
/** Until the first message of a stream is whole, the front looks again after so many ms. */
const LOOKS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** Numbers that gRPC gives them. */
const STATUS = {
  invalidArgument: 3,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
} as const;

/**
 * The front for gRPC. Messages that name a model are read whole, which a buffer has to hold, and go to its home: a stream to that of its
 * first message. What names none goes to any cell, if all cells can answer it alike.
 */
export function grpcFrontend(
  cells: readonly string[],
  { host, grpcPort, messageBytes }: FrontOptions & { readonly grpcPort: number },
): string {
  return `frontend grpc
  bind ${host}:${grpcPort} proto h2
  http-after-response set-status 503 if { status 502 }
  http-after-response set-header content-type application/grpc if { res.hdr(grpc-status) -m found }
${cells.map((cell) => `  acl lacks-a-cell nbsrv(${cell}-http) eq 0`).join('\n')}
  acl of-model path ${methods('ModelInfer', 'ModelReady', 'ModelMetadata', 'ModelConfig', 'ModelStatistics')}
  acl of-stream path ${methods('ModelStreamInfer')}
  acl of-repository path ${methods('RepositoryModelLoad', 'RepositoryModelUnload')}
  acl compressed req.body,bytes(0,1),hex 01
  acl too-large req.body,bytes(1,4),hex,hex2i gt ${messageBytes}
  acl whole req.body,ungrpc(${MODEL_FIELD}) -m found
  http-request wait-for-body time 30s if of-model or of-repository
  http-request wait-for-body time 30s at-least 5 if of-stream
${LOOKS_MS.map((ms) => `  http-request wait-for-body time ${ms}ms if of-stream !whole !compressed !too-large`).join('\n')}
  ${refusal('unavailable', 'the server is not ready: a cell has no controller that is')} if { path ${methods('ServerReady')} } lacks-a-cell
  ${refusal('unimplemented', 'each cell knows its own models only: ask the controllers themselves')} if { path ${methods('RepositoryIndex')} }
  ${refusal('unimplemented', 'compressed messages cannot be routed: send them uncompressed')} if of-model compressed or of-stream compressed or of-repository compressed
  ${refusal('resourceExhausted', `messages of more than ${messageBytes} bytes cannot be routed: send them over HTTP`)} if of-model too-large or of-stream too-large or of-repository too-large
  http-request set-var(txn.model) req.body,ungrpc(${MODEL_FIELD}) if of-model or of-stream
  http-request set-var(txn.model) req.body,ungrpc(${REPOSITORY_FIELD}) if of-repository
  ${refusal('unimplemented', 'each cell knows its own models only: name one, or ask the controllers themselves')} if { path ${methods('ModelStatistics')} } !{ var(txn.model) -m found }
  ${refusal('invalidArgument', 'the message names no model, or did not come in time')} if of-model !{ var(txn.model) -m found } or of-stream !{ var(txn.model) -m found } or of-repository !{ var(txn.model) -m found }
  http-request set-var(txn.home) str(any) unless { var(txn.model) -m found }
  http-request set-var(txn.home) var(txn.model),map(models.map) if { var(txn.model) -m found }
  ${refusal('notFound', 'no cell has this model')} unless { var(txn.home) -m found }
  ${refusal('unimplemented', 'several cells have this model: load and unload it in each of them')} if of-repository { var(txn.home) -m beg shared- }
  use_backend %[var(txn.home)]-grpc`;
}

function methods(...names: readonly string[]): string {
  return names.map((name) => `${SERVICE}/${name}`).join(' ');
}

/** An answer of headers alone, which is how gRPC refuses a call. */
function refusal(status: keyof typeof STATUS, what: string): string {
  return `http-request return status 200 hdr grpc-status ${STATUS[status]} hdr grpc-message '${what}'`;
}
