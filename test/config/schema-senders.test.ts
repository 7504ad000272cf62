import { describe, expect, it } from 'vitest';
import { rowsOf } from '../rows.js';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

const withClasses = (classes: string, section = '') =>
  BASE.replace('20s }', `20s${section} }`).replace('slo:', `classes: ${classes}\nslo:`);

/** Classes as written, and a part of the message. */
const CLASSES = `
[{ name: gold, weight: 0 }] | classes.0.weight: must be above 0, found 0
[{ name: gold, weight: -1 }] | classes.0.weight:
[{ name: a }, { name: a }] | classes.1.name: a is listed twice
[{ name: a, share: 60% }, { name: b, share: 50% }] | classes: guarantee 110 % of the GPU time: must be at most 100 %
[{ name: a, priority: 1 }, { name: b, priority: [2, 1] }] | classes.1.priority: 1 means the class a already
[] | classes:
`;

/** Tenants as written, and a part of the message. */
const TENANTS = `
{ list: [{ name: a }, { name: a }] } | tenants.list.1.name: a is listed twice
{ list: [{ name: a, rate: 0/s }] } | tenants.list.0.rate: must be above 0
{ list: [{ name: a, share: 0 }] } | tenants.list.0.share: must be at least 0.000001, found 0
{ list: [{ name: a, rate: 1/s, burst: 0 }] } | tenants.list.0.burst: 
{ header: X-Team, list: [{ name: a }] } | tenants.header: must be in lower case: x-team
{ list: [{ name: a, share: 1e-300 }] } | share: must be at least 0.000001, found 1e-300
{ list: [{ name: a, share: 50% }] } | share: must be a plain number such as 2, relative to those of the others, not a percentage: found 50%
{ list: [] } | tenants.list: is an empty list: write at least one item
{ list: [{ name: a, rate: .inf }] } | found Infinity
{ list: [&a { name: a }, { <<: *a, name: b }] } | merge keys (<<) are not supported: write out the keys that it would add
{ header: Authorization, list: [{ name: a }] } | header: holds a secret
{ header: x team, list: [{ name: a }] } | header: must be letters, digits and -
{ header: content-length, list: [{ name: a }] } | header: has a meaning of its own
{ header: host, list: [{ name: a }] } | header: has a meaning of its own
{ header: grpc-timeout, list: [{ name: a }] } | header: has a meaning of its own
{ header: x-team-bin, list: [{ name: a }] } | header: must not end in -bin
{ header: authorization, list: [{ name: a }] } | tenants.header: holds a secret, which must not name a tenant: choose another header
`;

describe('classes of an experiment', () => {
  it('have a name, a weight of 1 and no guarantee unless they say more', async () => {
    const text = withClasses('[{ name: gold, weight: 5, share: 30%, priority: [1, 2] }, { name: bulk }]');
    expect((await load(text)).classes).toEqual([
      { name: 'gold', weight: 5, share: 0.3, priorities: [1, 2] },
      { name: 'bulk', weight: 1, share: 0, priorities: [] },
    ]);
    expect((await load(BASE)).classes).toEqual([]);
  });

  it.each(rowsOf(CLASSES))('are refused as %s', async (classes = '', message) => {
    const error = await rejection(load(withClasses(classes)));
    expect(error.message).toContain(message);
  });

  it('must be declared before a section names them', async () => {
    const named = await rejection(load(withClasses('[{ name: gold }]', ', class: glod')));
    expect(named.message).toContain('unknown class "glod": did you mean "gold"?');
    const none = await rejection(load(BASE.replace('20s }', '20s, class: gold }')));
    expect(none.message).toContain('unknown class "gold": declare it in classes');
  });
});

const withTenants = (tenants: string, section = '') =>
  BASE.replace('20s }', `20s${section} }`).replace('slo:', `tenants: ${tenants}\nslo:`);

it('tenants have a rate with a burst of a second, and a share', async () => {
  const text = withTenants('{ header: x-team, list: [{ name: others, rate: 20/s }, { name: a, share: 3 }] }');
  expect((await load(text)).tenants).toEqual({
    header: 'x-team',
    list: [
      { name: 'others', rateRps: 20, burst: 20, share: 1 },
      { name: 'a', rateRps: Number.POSITIVE_INFINITY, burst: 1, share: 3 },
    ],
  });
});

it.each([
  ...rowsOf(TENANTS),
  [
    `{ list: [{ name: ${'x'.repeat(5000)} }] }`,
    'tenants.list.0.name: must have at most 200 characters, found 5000',
  ],
])('are refused as %s', async (tenants = '', message) => {
  expect((await rejection(load(withTenants(tenants)))).message).toContain(message);
});

it('must be declared before a section names them', async () => {
  const error = await rejection(load(withTenants('{ list: [{ name: acme }] }', ', tenant: acmee')));
  expect(error.message).toContain('unknown tenant "acmee": did you mean "acme"?');
});
