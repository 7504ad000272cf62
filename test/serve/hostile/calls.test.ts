import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server answers everyone else next to 20,000 requests under way', async () => {
  await withstand('plain', [
    {
      name: 'grpc 20,000 requests under way',
      gets: /^(ended|connection closed|GOAWAY \d+|RST \d+|ECONNRESET|EPIPE)$/,
      // Until they are all under way. The first answers may take longer.
      seconds: 4,
      mayWait: true,
    },
  ]);
});
