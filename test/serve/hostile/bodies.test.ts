import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server answers everyone else next to 40 uploads at a time', async () => {
  await withstand('plain', [{ name: '40 uploads of 60 MB', gets: /^(200|503|504)$/ }]);
});

it('a server refuses what is dear to decompress or comes in empty pieces, and answers everyone else', async () => {
  await withstand('plain', [
    { name: 'gzip bombs of 400 MB', gets: /^(413|503|504|grpc [48])$/ },
    // The connection is closed for one that goes on sending chunks after its 400.
    { name: 'millions of empty pieces', gets: /^(400|413|503|EPIPE|ECONNRESET)$/ },
  ]);
});
