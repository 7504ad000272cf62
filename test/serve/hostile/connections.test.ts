import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server refuses web pages of other sites, and answers everyone else next to slow readers', async () => {
  await withstand('plain', [
    { name: 'cross-site posts', gets: /^403$/ },
    { name: '200 slow readers', gets: /^(closed|ECONNRESET)$/, seconds: 3, mayWait: true },
  ]);
});
