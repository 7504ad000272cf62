import { expect, it } from 'vitest';
import { TenantNames } from '../../../src/live/frontend/headers.js';

const tenantNames = (header: string, names: readonly string[]) =>
  new TenantNames({ header, list: names.map((name) => ({ name, rateRps: 1, burst: 1 })) });

it('finds listed tenants by their header, and takes all others for the first', () => {
  const names = tenantNames('x-tenant', ['others', 'acme', 'beta']);
  expect(names.of((header) => (header === 'x-tenant' ? 'acme' : ''))).toBe(1);
  expect(names.of(() => 'beta')).toBe(2);
  for (const value of ['others', 'unlisted', '', '__proto__', ['acme', 'beta'], undefined])
    expect(names.of(() => value)).toBe(0);
  expect(tenantNames('', []).of(() => 'acme')).toBe(0);
});
