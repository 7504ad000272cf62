import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError, shown } from './api-error.js';
import type { Compression } from './http-body.js';

/** Coding of the body; null: it is not compressed. Throws an `ApiError`. */
export function contentEncoding(headers: IncomingHttpHeaders): Compression | null {
  const encoding = headers['content-encoding'];
  if (encoding === undefined) return null;
  switch (encoding.toLowerCase()) {
    case 'identity':
    case '':
      return null;
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'deflate':
      return 'deflate';
    default:
      throw new ApiError(
        'encoding',
        `content-encoding ${shown(encoding)} is not supported: send gzip, deflate or the body as it is`,
      );
  }
}

/**
 * Coding that the client prefers for a large answer (RFC 9110, 12.5.3); null: none. Of codings that it likes
 * equally well, gzip comes first, and the answer as it is last unless the client names it.
 */
export function acceptedEncoding(headers: IncomingHttpHeaders): Compression | null {
  const accepted = headers['accept-encoding'];
  if (typeof accepted !== 'string') return null;
  const weights = weightsOf(accepted);
  const others = weights.get('*') ?? 0;
  const gzip = weights.get('gzip') ?? others;
  const deflate = weights.get('deflate') ?? others;
  const most = Math.max(gzip, deflate);
  if (most === 0 || most < (weights.get('identity') ?? 0)) return null;
  return gzip === most ? 'gzip' : 'deflate';
}

/** Weights of the codings that a client names, from 0 for never to 1. */
function weightsOf(accepted: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const member of accepted.toLowerCase().split(',')) {
    const [, name, weight = '1'] = CODING.exec(member) ?? [];
    if (name === undefined) continue;
    const coding = name === 'x-gzip' ? 'gzip' : name;
    weights.set(coding, Math.max(Number(weight), weights.get(coding) ?? 0));
  }
  return weights;
}

/** A coding with its weight, as in `gzip;q=0.5`; members of another form count for nothing. */
const CODING = /^[ \t]*([^\s;]+)[ \t]*(?:;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*)?$/;

/**
 * Throws an `ApiError` for a request that Node takes although others could read its length or its addressee otherwise
 * (RFC 9112).
 */
export function checkFraming({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): void {
  const { host, 'transfer-encoding': coding } = headers;
  if (coding !== undefined && httpVersionMinor === 0)
    throw new ApiError('invalid', 'transfer-encoding is not part of HTTP/1.0');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new ApiError(
      'unimplemented',
      `transfer-encoding ${shown(coding)} is not supported: send chunked, and name compression in content-encoding`,
    );
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (host === undefined && httpVersionMinor > 0))
    throw new ApiError('invalid', `header Host: expected one, got ${hosts}`);
}
