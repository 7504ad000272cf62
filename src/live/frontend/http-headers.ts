import type { Compression } from './codec/inflate.js';
import type { FrontendRequest } from './http-request.js';
import { Refusal, shown } from './refusal.js';

/** How the body is compressed; null: it is not. Throws a refusal. */
export function contentEncoding({ headers }: FrontendRequest): Compression | null {
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

/** How the client would like a large answer to be compressed; null: not. */
export function acceptedEncoding({ headers }: FrontendRequest): Compression | null {
  const accepted = headers['accept-encoding'];
  if (typeof accepted !== 'string') return null;
  let deflate = false;
  for (const coding of accepted.toLowerCase().split(',')) {
    const [name, ...parameters] = coding.split(';').map((part) => part.trim());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) continue;
    if (name === 'gzip' || name === 'x-gzip') return 'gzip';
    if (name === 'deflate') deflate = true;
  }
  return deflate ? 'deflate' : null;
}

/** Bytes of JSON at the beginning of a body; 0: the body is one input, without any. Throws a refusal. */
export function jsonLength({ headers }: FrontendRequest, bodyBytes: number): number {
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
