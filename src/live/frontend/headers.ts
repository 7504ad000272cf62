import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Tenant } from '../../core/tenants.js';
import { tokensMatch } from '../wire/credentials.js';
import { ApiError, shown } from './api-error.js';

/**
 * Throws an `ApiError` unless the client shows the bearer token (RFC 6750). `expected` null: everybody may enter. `authorization`:
 * what the client sent under that name; the name of the scheme may be written in capitals or not (RFC 9110).
 */
export function checkToken(expected: string | null, authorization = ''): void {
  if (expected === null) return;
  if (/^bearer /i.test(authorization) && tokensMatch(authorization.slice('Bearer '.length), expected)) return;
  throw new ApiError('unauthenticated', 'needs "authorization: Bearer TOKEN" with the token of this server');
}

/** Which web pages may use the API from a browser (the Fetch standard's CORS). */
export class Origins {
  private readonly allowed: ReadonlySet<string>;

  /**
   * `cors`: origins with commas in between, `*` for all; null: none. `hasToken`: clients must show a token, which no
   * browser sends by itself.
   */
  constructor(
    private readonly cors: string | null,
    private readonly hasToken: boolean,
  ) {
    this.allowed = new Set((cors ?? '').split(',').map((origin) => origin.trim()));
  }

  /** True if some other origins are allowed: answers then depend on the origin and say so (`Vary`). */
  get isOn(): boolean {
    return this.cors !== null;
  }

  allows(origin: string): boolean {
    return this.isOn && (this.allowed.has('*') || this.allowed.has(origin));
  }

  /** CORS headers of an answer to a page of that origin. */
  headersFor(origin: string | undefined): readonly string[] {
    if (origin === undefined || !this.allows(origin)) return ['vary', 'origin'];
    const exposed = 'inference-header-content-length, retry-after, traceparent';
    return [
      ...['vary', 'origin', 'access-control-allow-origin', origin],
      ...['access-control-expose-headers', exposed],
    ];
  }

  /**
   * Throws an `ApiError` for a request that a page makes a browser send. Browsers let any page send plain POSTs; what is
   * answered it cannot read, but the request would have been done. No page is served here, so one that says it comes
   * from here has made its own name point to this address.
   */
  admit(origin: string | undefined): void {
    if (origin === undefined || this.hasToken || this.allows(origin)) return;
    throw new ApiError(
      'foreignOrigin',
      `web pages of ${shown(origin)} may not use this server: --cors allows origins`,
    );
  }
}

/** Tenants as frontends know them. Plain data. */
export interface TenantHeader {
  /** HTTP header, and key of gRPC metadata, that names the tenant; '': none are told apart. */
  readonly header: string;
  readonly list: readonly Omit<Tenant, 'share'>[];
}

/**
 * Returns what finds the tenant of a request, given what finds a header. Whatever clients send, there are as many as were listed:
 * a name that is not listed counts as the first.
 */
export function tenantFinder({ header, list }: TenantHeader): (find: (header: string) => unknown) => number {
  const indexOf = new Map<unknown, number>(list.map(({ name }, index) => [name, index]));
  return (find) => (header === '' ? 0 : (indexOf.get(find(header)) ?? 0));
}

/** W3C Trace Context: there is no version ff, and all zeros name no trace and no parent. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace that the header `traceparent` names; null: none that can be read. */
export function traceOf(traceparent: unknown): string | null {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : null;
}

/** A content coding that is supported. `deflate` is the zlib format. */
export type Compression = 'gzip' | 'deflate';

const CODINGS: ReadonlyMap<string, Compression | null> = new Map([
  ['', null],
  ['identity', null],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** Coding of the body; null: it is not compressed. Throws an `ApiError`. */
export function contentEncoding({
  'content-encoding': encoding = '',
}: IncomingHttpHeaders): Compression | null {
  const coding = CODINGS.get(encoding.toLowerCase());
  if (coding !== undefined) return coding;
  const advice = 'send gzip, deflate or the body as it is';
  throw new ApiError('encoding', `content-encoding ${shown(encoding)} is not supported: ${advice}`);
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
    const coding = CODINGS.get(name) ?? name;
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
