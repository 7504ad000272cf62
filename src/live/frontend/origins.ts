import { ApiError, shown } from './api-error.js';

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
