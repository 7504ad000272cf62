import type { FrontendRequest, FrontendResponse } from './http-request.js';
import { REFUSALS, type Refusal } from './refusal.js';

/** Answers with JSON. A client that has gone away gets nothing. */
export function sendJson(response: FrontendResponse, status: number, text: string): void {
  if (response.destroyed) return;
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, ['content-type', 'application/json', 'content-length', length]);
  response.end(text);
}

/** Answers with JSON followed by binary tensors (binary tensor data extension). */
export function sendBinary(response: FrontendResponse, text: string, tensors: readonly Uint8Array[]): void {
  if (response.destroyed) return;
  const json = Buffer.from(text);
  const body = Buffer.concat([json, ...tensors]);
  response.writeHead(200, [
    'content-type',
    'application/octet-stream',
    'inference-header-content-length',
    String(json.length),
    'content-length',
    String(body.length),
  ]);
  response.end(body);
}

/** Answers with nothing but the status. */
export function sendStatus(response: FrontendResponse, status: number): void {
  if (response.destroyed) return;
  response.writeHead(status, ['content-length', '0']);
  response.end();
}

export function sendRefusal(request: FrontendRequest, refusal: Refusal): void {
  const response = request.response as FrontendResponse;
  if (response.destroyed) return;
  const { kind, message, predictedMs } = refusal;
  const headers: string[] = [];
  let text = `{"error":${JSON.stringify(message)}}`;
  if (kind === 'rejected') {
    // Whole seconds are the finest that the header can say.
    headers.push('retry-after', String(Math.max(1, Math.ceil((predictedMs ?? 0) / 1000))));
    text = `{"error":${JSON.stringify(message)},"predicted_ms":${predictedMs}}`;
  } else if (kind === 'unauthenticated') headers.push('www-authenticate', 'Bearer');
  else if (kind === 'needsGet') headers.push('allow', 'GET');
  else if (kind === 'needsPost') headers.push('allow', 'POST');
  // What such a client sends is not read to its end, so that nothing can follow it on this connection.
  if (kind === 'unauthenticated' || kind === 'tooLarge') headers.push('connection', 'close');
  headers.push('content-type', 'application/json', 'content-length', String(Buffer.byteLength(text)));
  response.writeHead(REFUSALS[kind].http, headers);
  response.end(text);
}
