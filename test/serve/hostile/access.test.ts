import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server with a token reads nothing dear of those who lack it, and answers everyone else', async () => {
  await withstand('token', [{ name: '60 MB of JSON without the token', gets: /^401$/ }]);
});

it('a worker with a token reads nothing dear of those who lack it, and its controller serves on', async () => {
  await withstand('cluster-token', [
    { name: 'worker: 64 kB gzip of empty messages', gets: /^grpc (9|12|16)$/ },
  ]);
});
