import { describe, expect, it } from 'vitest';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

const withClasses = (classes: string, section = '') =>
  BASE.replace('20s }', `20s${section} }`).replace('slo:', `classes: ${classes}\nslo:`);

describe('classes of an experiment', () => {
  it('have a name, a weight of 1 and no guarantee unless they say more', async () => {
    const text = withClasses('[{ name: gold, weight: 5, share: 30%, priority: [1, 2] }, { name: bulk }]');
    expect((await load(text)).classes).toEqual([
      { name: 'gold', weight: 5, share: 0.3, priorities: [1, 2] },
      { name: 'bulk', weight: 1, share: 0, priorities: [] },
    ]);
    expect((await load(BASE)).classes).toEqual([]);
  });

  it.each([
    ['a weight of 0', '[{ name: gold, weight: 0 }]', 'classes.0.weight: must be above 0, found 0'],
    ['a negative weight', '[{ name: gold, weight: -1 }]', /classes\.0\.weight: .*-1/],
    ['a name twice', '[{ name: a }, { name: a }]', 'classes.1.name: a is listed twice'],
    [
      'guarantees above 100 %',
      '[{ name: a, share: 60% }, { name: b, share: 50% }]',
      'classes: guarantee 110 % of the GPU time: must be at most 100 %',
    ],
    [
      'a priority twice',
      '[{ name: a, priority: 1 }, { name: b, priority: [2, 1] }]',
      'classes.1.priority: 1 means the class a already',
    ],
    ['no class', '[]', /classes: /],
  ])('are refused with %s', async (_, classes, message) => {
    const error = await rejection(load(withClasses(classes)));
    if (typeof message === 'string') expect(error.message).toContain(message);
    else expect(error.message).toMatch(message);
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
  ['a name twice', '{ list: [{ name: a }, { name: a }] }', 'tenants.list.1.name: a is listed twice'],
  ['a rate of 0', '{ list: [{ name: a, rate: 0/s }] }', 'tenants.list.0.rate: must be above 0'],
  [
    'a share of 0',
    '{ list: [{ name: a, share: 0 }] }',
    'tenants.list.0.share: must be at least 0.000001, found 0',
  ],
  ['a burst of 0', '{ list: [{ name: a, rate: 1/s, burst: 0 }] }', 'tenants.list.0.burst: '],
  [
    'a header in capitals',
    '{ header: X-Team, list: [{ name: a }] }',
    'tenants.header: must be in lower case: x-team',
  ],
  [
    'a share of next to nothing',
    '{ list: [{ name: a, share: 1e-300 }] }',
    'share: must be at least 0.000001, found 1e-300',
  ],
  [
    'a share in percent',
    '{ list: [{ name: a, share: 50% }] }',
    'share: must be a number relative to those of the others, e.g. 2, and no percentage: found 50%',
  ],
  ['no tenant', '{ list: [] }', 'tenants.list: is an empty list: write at least one item'],
  ['a rate without end', '{ list: [{ name: a, rate: .inf }] }', 'found Infinity'],
  [
    'a long name',
    `{ list: [{ name: ${'x'.repeat(5000)} }] }`,
    'tenants.list.0.name: must have at most 200 characters, found 5000',
  ],
  [
    'a merge key',
    '{ list: [&a { name: a }, { <<: *a, name: b }] }',
    'merge keys (<<) are not supported: write out the keys that it would add',
  ],
  ['a secret in capitals', '{ header: Authorization, list: [{ name: a }] }', 'header: holds a secret'],
  ['a space', '{ header: x team, list: [{ name: a }] }', 'header: must be letters, digits and -'],
  ['a header of HTTP', '{ header: content-length, list: [{ name: a }] }', 'header: has a meaning of its own'],
  ['the host', '{ header: host, list: [{ name: a }] }', 'header: has a meaning of its own'],
  ['a header of gRPC', '{ header: grpc-timeout, list: [{ name: a }] }', 'header: has a meaning of its own'],
  ['a header of bytes', '{ header: x-team-bin, list: [{ name: a }] }', 'header: must not end in -bin'],
  [
    'a header that holds a secret',
    '{ header: authorization, list: [{ name: a }] }',
    'tenants.header: holds a secret, which must not name a tenant: choose another header',
  ],
])('are refused with %s', async (_, tenants, message) => {
  expect((await rejection(load(withTenants(tenants)))).message).toContain(message);
});

it('must be declared before a section names them', async () => {
  const error = await rejection(load(withTenants('{ list: [{ name: acme }] }', ', tenant: acmee')));
  expect(error.message).toContain('unknown tenant "acmee": did you mean "acme"?');
});
