import { expect, it } from 'vitest';
import { sharesLine } from '../../src/config/tenant-shares.js';

it('says what shares come to, and relative to each other', () => {
  const tenants = [
    { name: 'others', share: 1 },
    { name: 'big', share: 0.5 },
    { name: 'small', share: 0.25 },
  ];
  expect(sharesLine(tenants)).toBe(
    'tenants: others 57.1 %, big 28.6 %, small 14.3 % of what GPUs can do under overload',
  );
});

it('says nothing of one tenant, and does not list very many', () => {
  expect(sharesLine([{ name: 'one', share: 1 }])).toBeNull();
  const many = Array.from({ length: 100 }, (_, i) => ({ name: `t${i}`, share: 1 }));
  expect(sharesLine(many)).toMatch(/^tenants: t0 1 %, .*, t11 1 %, and 88 more of what/);
});
