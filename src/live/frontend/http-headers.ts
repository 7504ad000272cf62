import type { Compression } from './codec/inflate.js';
import type { OpenRequest } from './open-request.js';
import { Refusal, shown } from './refusal.js';

/** How the body is compressed; null: it is not. Throws a refusal. */
export function contentEncoding({ headers }: OpenRequest): Compression | null {
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
      throw new Refusal(
        'encoding',
        `content-encoding ${shown(encoding)} is not supported: send gzip, deflate or the body as it is`,
      );
  }
}

/**
 * How the client would like a large answer to be compressed (RFC 9110, 12.5.3); null: not. Of codings that it likes
 * equally well, gzip comes first, and the answer as it is last unless the client names it.
 */
export function acceptedEncoding({ headers }: OpenRequest): Compression | null {
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

/** How much a client wants each coding that it names, from 0 for never to 1. */
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

/** Bytes of JSON at the beginning of a body; 0: the body is one input, without any. Throws a refusal. */
export function jsonLength({ headers }: OpenRequest, bodyBytes: number): number {
  const header = headers['inference-header-content-length'];
  if (header === undefined) {
    if (bodyBytes > 0) return bodyBytes;
    throw new Refusal('invalid', 'the body is not JSON: it is empty');
  }
  const length = /^\d{1,15}$/.test(header as string) ? Number(header) : Number.POSITIVE_INFINITY;
  if (length <= bodyBytes) return length;
  throw new Refusal(
    'invalid',
    `header Inference-Header-Content-Length: expected at most the body's ${bodyBytes} bytes, got ${shown(header)}`,
  );
}
