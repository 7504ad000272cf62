import type { IncomingHttpHeaders } from 'node:http';
import type { Tenant } from '../../core/tenants.js';

/** Tenants as frontends know them. Plain data. */
export interface TenantHeader {
  /** HTTP header, and key of gRPC metadata, that names the tenant; '': none are told apart. */
  readonly header: string;
  readonly list: readonly Omit<Tenant, 'share'>[];
}

/**
 * Finds the tenant of a request. Whatever clients send, there are as many as were listed: a name that is not listed counts
 * as the first.
 */
export class TenantNames {
  private readonly header: string;
  private readonly indexOf: ReadonlyMap<string, number>;

  constructor({ header, list }: TenantHeader) {
    this.header = header;
    this.indexOf = new Map(list.map(({ name }, index) => [name, index]));
  }

  of(headers: IncomingHttpHeaders): number {
    if (this.header === '') return 0;
    const name = headers[this.header];
    return typeof name === 'string' ? (this.indexOf.get(name) ?? 0) : 0;
  }
}
