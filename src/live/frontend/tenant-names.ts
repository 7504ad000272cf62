/** Tenants as frontends know them. Plain data. */
export interface TenantHeader {
  /** HTTP header, and key of gRPC metadata, that names the tenant; '': none are told apart. */
  readonly header: string;
  readonly names: readonly string[];
}

/**
 * Finds the tenant of a request. Whatever clients send, there are as many as were listed: a name that is not listed counts
 * as the first.
 */
export class TenantNames {
  private readonly header: string;
  private readonly indexOf: ReadonlyMap<string, number>;

  constructor({ header, names }: TenantHeader) {
    this.header = header;
    this.indexOf = new Map(names.map((name, index) => [name, index]));
  }

  of(headers: Readonly<Record<string, string | string[] | undefined>>): number {
    if (this.header === '') return 0;
    const name = headers[this.header];
    return typeof name === 'string' ? (this.indexOf.get(name) ?? 0) : 0;
  }
}
