import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server answers everyone else next to clients that are slow, or come and go', async () => {
  await withstand('plain', [
    { name: '200 answers read slowly or never', gets: /^(closed|ECONNRESET)$/, seconds: 3, mayWait: true },
    { name: '500 slow headers, 500 slow bodies', gets: /^(408|closed|ECONNRESET)$/, mayWait: true },
    { name: 'connection churn', gets: /^(200|503|opened and reset|EPIPE|ECONNRESET)$/ },
  ]);
});
