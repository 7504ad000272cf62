import { it } from 'vitest';
import { withstand } from './withstand.js';

/** Or too late: it waits to be decoded for no longer than its SLO. */
const INVALID_OR_TOO_MUCH = /^grpc (3|4|8)$/;

it('a server refuses gRPC messages that are dear to decode, and answers everyone else', async () => {
  await withstand('plain', [{ name: 'grpc messages of millions of parts', gets: INVALID_OR_TOO_MUCH }]);
});
