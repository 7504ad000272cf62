import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server answers everyone else next to slow readers', async () => {
  await withstand('plain', [
    { name: '200 slow readers', gets: /^(closed|ECONNRESET)$/, seconds: 3, mayWait: true },
  ]);
});
