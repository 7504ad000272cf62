import * as z from 'zod';
import type { Tenant } from '../core/tenants.js';
import { MOST_TENANTS } from '../core/tenants.js';
import { rate, relative, section } from './fields.js';
import { headerProblem } from './tenant-header.js';

/** Smaller ones next to 1 would be nothing. */
const LEAST_SHARE = 1e-6;

const tenantSection = section({
  name: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .describe('Name of the tenant, as clients send it.'),
  rate: rate('Requests that it may send in the long run; default: any number.').exactOptional(),
  burst: z
    .int()
    .min(1)
    .max(1_000_000)
    .exactOptional()
    .describe('Requests that it may send at once after a pause; default: those of a second, at least 1.'),
  share: relative(
    'Its part of the GPUs under overload, relative to other tenants.',
    LEAST_SHARE,
    1e6,
  ).prefault(1),
}).meta({ id: 'tenant' });

/** `tenants`: on whose behalf requests are sent. The first is that of requests that name none, or none of these. */
export const tenantsSchema = section({
  header: z
    .string()
    .superRefine((name, context) => {
      const message = headerProblem(name);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ pattern: '^[a-z0-9-]+$' })
    .default('x-tenant')
    .describe('HTTP header, and key of gRPC metadata, in which clients of a server name their tenant.'),
  list: z
    .array(tenantSection)
    .min(1)
    .max(MOST_TENANTS)
    .superRefine((list, context) => {
      const names = list.map(({ name }) => name);
      names.forEach((name, i) => {
        if (names.indexOf(name) < i)
          context.addIssue({ code: 'custom', path: [i, 'name'], message: `${name} is listed twice` });
      });
    })
    .describe('The tenants. The first is that of requests that name none, or one that is not listed.'),
})
  .exactOptional()
  .describe('Limits of the rate of each tenant, and fair shares under overload.');

/** Tenants as they are declared; an empty list: none are told apart. */
export interface TenantsConfig {
  readonly header: string;
  readonly list: readonly Tenant[];
}

export const NO_TENANTS: TenantsConfig = { header: '', list: [] };

export function tenantsOf(declared?: z.output<typeof tenantsSchema>): TenantsConfig {
  if (declared === undefined) return NO_TENANTS;
  return {
    header: declared.header,
    list: declared.list.map(({ name, rate: rateRps = Number.POSITIVE_INFINITY, burst, share }) => ({
      name,
      rateRps,
      burst: burst ?? (rateRps === Number.POSITIVE_INFINITY ? 1 : Math.max(1, Math.ceil(rateRps))),
      share,
    })),
  };
}
