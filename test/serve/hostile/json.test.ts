import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server refuses JSON that is dear to parse, to keep or to answer, and answers everyone else', async () => {
  await withstand('plain', [
    { name: 'json 3 million keys', gets: /^(413|400|504)$/ },
    { name: 'json 100,000 levels in id', gets: /^(400|504)$/ },
    { name: 'json 3.9 MB of small objects', gets: /^(400|503|504)$/ },
    { name: 'an output named 10,000 times', gets: /^(400|504)$/ },
    { name: 'gzip bomb of 400 MB', gets: /^(413|503|504)$/ },
  ]);
});
