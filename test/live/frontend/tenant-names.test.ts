import { expect, it } from 'vitest';
import { TenantNames } from '../../../src/live/frontend/tenant-names.js';

const named = (names: readonly string[]) => names.map((name) => ({ name, rateRps: 1, burst: 1 }));

it('finds listed tenants by their header, and takes all others for the first', () => {
  const names = new TenantNames({ header: 'x-tenant', list: named(['others', 'acme', 'beta']) });
  expect(names.of({ 'x-tenant': 'acme' })).toBe(1);
  expect(names.of({ 'x-tenant': 'beta' })).toBe(2);
  for (const value of ['others', 'unlisted', '', '__proto__', ['acme', 'beta'], undefined])
    expect(names.of({ 'x-tenant': value })).toBe(0);
  expect(names.of({})).toBe(0);
});

it('finds none where none are listed', () => {
  expect(new TenantNames({ header: '', list: named([]) }).of({ '': 'acme', 'x-tenant': 'acme' })).toBe(0);
});

it('keeps nothing of a hundred thousand names that are not listed', () => {
  const names = new TenantNames({ header: 'x-tenant', list: named(['others', 'acme']) });
  const before = JSON.stringify([...(names as unknown as { indexOf: Map<string, number> }).indexOf]);
  const found = new Set(Array.from({ length: 100_000 }, (_, i) => names.of({ 'x-tenant': `tenant-${i}` })));
  expect([...found]).toEqual([0]);
  expect(JSON.stringify([...(names as unknown as { indexOf: Map<string, number> }).indexOf])).toBe(before);
});
