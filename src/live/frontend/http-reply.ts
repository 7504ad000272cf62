import { ALLOW, isInfer } from './http-allow.js';
import type { FrontendRequest } from './http-request.js';
import { linger } from './linger.js';
import { hasLeft, type OpenRequest } from './open-request.js';
import { REFUSALS, type Refusal, type RefusalKind } from './refusal.js';
import { traceOf } from './traceparent.js';

const JSON_TYPE = 'application/json';

/** Answers with JSON. A client that has gone away gets nothing. */
export function sendJson(request: OpenRequest, status: number, text: string): void {
  const headers = ['content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(text))];
  sendHead(request, status, headers)?.end(text);
  settle(request, text.length);
}

/** The same, of a text that is encoded already; `encoding` null: it is not compressed. */
export function sendEncodedJson(request: OpenRequest, text: Uint8Array, encoding: string | null): void {
  const headers = ['content-type', JSON_TYPE, 'content-length', String(text.length)];
  if (encoding !== null) headers.push('content-encoding', encoding, 'vary', 'accept-encoding');
  sendHead(request, 200, headers)?.end(text);
  settle(request, text.length);
}

/** Answers with JSON followed by binary tensors (binary tensor data extension). */
export function sendBinary(request: OpenRequest, json: Uint8Array, tensors: readonly Uint8Array[]): void {
  let bytes = json.length;
  for (const tensor of tensors) bytes += tensor.length;
  const response = sendHead(request, 200, [
    'content-type',
    'application/octet-stream',
    'inference-header-content-length',
    String(json.length),
    'content-length',
    String(bytes),
  ]);
  if (response !== null) {
    if (bytes <= ONE_STRING_BYTES)
      response.end(Buffer.concat([json, ...tensors], bytes).toString('latin1'), 'latin1');
    else if (bytes <= ONE_WRITE_BYTES) response.end(Buffer.concat([json, ...tensors], bytes));
    else {
      response.cork();
      response.write(json);
      for (const tensor of tensors) response.write(tensor);
      response.end();
    }
  }
  settle(request, bytes);
}

/** Up to this, it is a text of its bytes, which goes out in one piece with the headers. */
const ONE_STRING_BYTES = 4 * 1024;
/** Up to this, copying costs less than writing in pieces. */
const ONE_WRITE_BYTES = 64 * 1024;

/** Answers without a body. */
export function sendNothing(request: OpenRequest, status: number, headers: readonly string[]): void {
  sendHead(request, status, [...headers, 'content-length', '0'])?.end();
  settle(request, 0);
}

export function sendRefusal(request: OpenRequest, refusal: Refusal): void {
  const { kind, message, predictedMs } = refusal;
  const headers: string[] = [];
  const isPredicted = kind === 'rejected' || (predictedMs !== null && kind !== 'overLimit');
  const predicted = isPredicted ? `,"predicted_ms":${predictedMs}` : '';
  const text = `{"error":${JSON.stringify(message)}${predicted}}`;
  if (kind === 'rejected' || kind === 'overLimit') {
    // Whole seconds are the finest that the header can say.
    headers.push('retry-after', String(Math.max(1, Math.ceil((predictedMs ?? 0) / 1000))));
  } else if (SOON_OVER.has(kind)) headers.push('retry-after', '1');
  else if (kind === 'unauthenticated') headers.push('www-authenticate', 'Bearer');
  else if (kind === 'needsGet') headers.push('allow', ALLOW.GET);
  else if (kind === 'needsPost') headers.push('allow', ALLOW.POST);
  headers.push('content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(text)));
  const { complete, announcedBytes } = request;
  const isLeft = !complete && (announcedBytes < 0 || announcedBytes > SMALL_REST_BYTES);
  // Nothing may follow on this connection where the body is not read as one.
  const isLast = isLeft || kind === 'unauthenticated' || kind === 'tooLarge' || kind === 'tooSlow';
  if (isLast) request.response.shouldKeepAlive = false;
  const response = sendHead(request, REFUSALS[kind].http, headers);
  if (response === null) {
    request.release();
    return;
  }
  if (!request.isAsked && isInfer(request.path)) request.site.refusals.add(kind, request.entry?.label);
  if (isLast && !complete) {
    response.write(text);
    request.release();
    // One of Node's: others are complete.
    linger(request as FrontendRequest);
  } else {
    response.end(text);
    settle(request, text.length);
  }
}

/** What may well go better a second later. */
const SOON_OVER: ReadonlySet<RefusalKind> = new Set(['overBudget', 'tooBusy', 'standby'] as const);

/** A rest of a body that is read and dropped, so that the connection can go on. */
const SMALL_REST_BYTES = 64 * 1024;

/** Writes status and headers; null: the client is gone, or they were sent. */
function sendHead(request: OpenRequest, status: number, headers: string[]) {
  const { response, site } = request;
  if (hasLeft(request) || response.headersSent) return null;
  if (site.endsConnections) response.shouldKeepAlive = false;
  if (site.origins.isOn) allowOrigin(request, request.headers.origin, headers);
  const trace = traceOf(request.headers);
  if (trace !== null) headers.push('traceparent', trace);
  response.writeHead(status, headers);
  return response;
}

function allowOrigin(request: OpenRequest, origin: string | undefined, headers: string[]): void {
  headers.push('vary', 'origin');
  if (origin === undefined || !request.site.origins.allows(origin)) return;
  headers.push('access-control-allow-origin', origin);
  headers.push('access-control-expose-headers', 'inference-header-content-length, retry-after, traceparent');
}

/** Gives memory back, at once where the connection took the whole answer. */
function settle(request: OpenRequest, bytes: number): void {
  const { response, site } = request;
  const { socket } = response;
  const isSent = hasLeft(request) || (socket !== null && socket.writableLength === 0);
  if (isSent) request.release();
  else site.slow.send(request, bytes);
}
