import { expect, it } from 'vitest';
import { tenantFinder } from '../../../src/live/frontend/site.js';

const finder = (header: string, names: readonly string[]) =>
  tenantFinder({ header, list: names.map((name) => ({ name, rateRps: 1, burst: 1 })) });

it('finds listed tenants by their header, and takes all others for the first', () => {
  const tenantOf = finder('x-tenant', ['others', 'acme', 'beta']);
  expect(tenantOf((header) => (header === 'x-tenant' ? 'acme' : ''))).toBe(1);
  expect(tenantOf(() => 'beta')).toBe(2);
  for (const value of ['others', 'unlisted', '', '__proto__', ['acme', 'beta'], undefined])
    expect(tenantOf(() => value)).toBe(0);
  expect(finder('', [])(() => 'acme')).toBe(0);
});
