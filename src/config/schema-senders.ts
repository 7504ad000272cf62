import * as z from 'zod';
import type { Immutable } from '../base/immutable.js';
import { MOST_CLASSES } from '../core/classes.js';
import { MOST_TENANTS, type Tenant } from '../core/tenants.js';
import { count, rate, refuseTwice, relative, section, share, whole } from './fields.js';

/** A weight or share that is smaller by more would vanish next to the others. */
const RANGE = 1e6;

const classSection = section({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][\w-]*$/, 'must be letters, digits, - and _')
    .describe('Name of the class.'),
  weight: count('Value of a request answered in time, relative to other classes.', RANGE).prefault(1),
  share: share('Share of GPU time that it gets at least while its requests wait, e.g. 20%.', 1).prefault(0),
  priority: z
    .array(z.int().min(1).max(Number.MAX_SAFE_INTEGER))
    .or(z.int().min(1).max(Number.MAX_SAFE_INTEGER))
    .exactOptional()
    .describe("Values of the protocol's parameter `priority` that select it: one or a list."),
}).meta({ id: 'class' });

/** `classes`: weights and shares of requests. The first is the default. */
export const classesSchema = z
  .array(classSection)
  .min(1)
  .max(MOST_CLASSES)
  .superRefine((classes, context) => {
    refuseTwice(classes, context);
    const owners = new Map<number, string>();
    classes.forEach(({ name, priority = [] }, i) => {
      for (const value of [priority].flat()) {
        const message = `${value} means the class ${owners.get(value)} already`;
        if (owners.has(value)) context.addIssue({ code: 'custom', path: [i, 'priority'], message });
        owners.set(value, name);
      }
    });
    const guaranteed = classes.reduce((sum, each) => sum + each.share, 0);
    const message = `guarantee ${+(guaranteed * 100).toPrecision(6)} % of the GPU time: must be at most 100 %`;
    if (guaranteed > 1 + 1e-9) context.addIssue({ code: 'custom', message });
  })
  .transform((classes) =>
    classes.map(({ priority = [], ...rest }) => ({ ...rest, priorities: [priority].flat() })),
  )
  .exactOptional()
  .describe(
    'Classes of requests, by what they are worth. The first is the default; without classes, all requests weigh 1.',
  );

/** One class of requests, as declared. */
export type ClassConfig = Immutable<NonNullable<z.output<typeof classesSchema>>[number]>;

const tenantSection = section({
  name: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .describe('Name of the tenant, as clients send it.'),
  rate: rate('Most requests that it may send in the long run; default: unlimited.').exactOptional(),
  burst: whole(
    'Most requests at once after a pause; default: those of a second, at least 1.',
    1,
    1_000_000,
  ).exactOptional(),
  share: relative('Its share of the GPUs under overload, relative to other tenants.', RANGE).prefault(1),
}).meta({ id: 'tenant' });

/** `tenants`: senders of requests. The first is the default, also for requests that name an unknown one. */
export const tenantsSchema = section({
  header: z
    .string()
    .superRefine((name, context) => {
      const message = headerProblem(name);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ pattern: '^[a-z0-9-]+$' })
    .default('x-tenant')
    .describe('HTTP header, and gRPC metadata key, that names the tenant.'),
  list: z
    .array(tenantSection)
    .min(1)
    .max(MOST_TENANTS)
    .superRefine(refuseTwice)
    .transform((tenants): readonly Tenant[] =>
      tenants.map(({ name, rate: rateRps = Number.POSITIVE_INFINITY, burst, share }) => ({
        name,
        rateRps,
        burst: burst ?? (rateRps === Number.POSITIVE_INFINITY ? 1 : Math.max(1, Math.ceil(rateRps))),
        share,
      })),
    )
    .describe('The tenants. The first is the default, also for unknown names.'),
})
  .exactOptional()
  .describe('Rate limits of tenants, and fair shares under overload.');

/** Tenants as declared; an empty list: there are none. */
export type TenantsConfig = Immutable<NonNullable<z.output<typeof tenantsSchema>>>;

export const NO_TENANTS: TenantsConfig = { header: '', list: [] };

/** Headers whose content must not appear in any log, metric or journal. */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie']);

/** Headers that define how to read a message, by RFC 9110 and 9112 or the protocol's binary extension. */
const OF_HTTP: ReadonlySet<string> = new Set([
  ...'host connection keep-alive proxy-connection transfer-encoding upgrade te trailer expect'.split(' '),
  ...'content-length content-type content-encoding accept-encoding inference-header-content-length'.split(
    ' ',
  ),
]);

/** Why a header, which is also a key of gRPC metadata, cannot name tenants; null if it can. */
function headerProblem(name: string): string | null {
  const lower = name.toLowerCase();
  if (SECRET.has(lower)) return 'holds a secret, which must not name a tenant: choose another header';
  if (!/^[a-z0-9-]+$/.test(lower)) return 'must be letters, digits and -, e.g. x-tenant';
  if (OF_HTTP.has(lower) || lower.startsWith('grpc-'))
    return 'has a meaning of its own to HTTP or gRPC, so it cannot name a tenant: choose another header, e.g. x-tenant';
  if (lower.endsWith('-bin')) return 'must not end in -bin, which means bytes in gRPC: choose another header';
  return lower === name ? null : `must be in lower case: ${lower}`;
}
