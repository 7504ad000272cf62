import { it } from 'vitest';
import { withstand } from './withstand.js';

/** Those that are closed for a flood keep their address out of gRPC for a while. */
const CLOSED = 'connection closed|GOAWAY \\d+|RST \\d+|ECONNRESET|EPIPE';

it('a server closes connections that bring no inference, and answers everyone else', async () => {
  await withstand('plain', [
    { name: 'grpc calls without inference', gets: new RegExp(`^(ended|${CLOSED})$`) },
    { name: 'h2 rapid reset', gets: new RegExp(`^(${CLOSED})$`) },
  ]);
});
