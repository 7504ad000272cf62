import { it } from 'vitest';
import { withstand } from './withstand.js';

/** How connections end that the server closes. */
const CLOSED = 'connection closed|GOAWAY \\d+|RST \\d+|ECONNRESET|EPIPE';

it('a server closes connections that bring no inference, and answers everyone else', async () => {
  await withstand('plain', [
    { name: 'grpc calls without inference', gets: new RegExp(`^(ended|${CLOSED})$`) },
    { name: 'h2 rapid reset, endless continuation', gets: new RegExp(`^(${CLOSED})$`) },
  ]);
});
