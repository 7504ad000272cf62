import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server refuses JSON that is dear to parse, sizes that lie and pages of other sites, and answers everyone else', async () => {
  await withstand('plain', [
    { name: 'json beyond its limit', gets: /^(400|413|503)$/ },
    { name: 'json within its limit', gets: /^(400|413|503|504)$/ },
    { name: 'sizes and origins that lie', gets: /^40[03]$/ },
  ]);
});
