import { it } from 'vitest';
import { type Attempt, withstand } from './withstand.js';

/** How connections end that the server closes. */
const CLOSED = 'connection closed|GOAWAY \\d+|RST \\d+|ECONNRESET|EPIPE';

it.each<[string, Parameters<typeof withstand>[0], readonly Attempt[]]>([
  [
    'JSON that is dear to parse, sizes that lie and pages of other sites',
    'plain',
    [
      { name: 'json beyond its limit', gets: /^(400|413|503)$/ },
      { name: 'json within its limit', gets: /^(400|413|503|504)$/ },
      { name: 'sizes and origins that lie', gets: /^40[03]$/ },
    ],
  ],
  [
    'bodies that are dear to decompress, in empty pieces, or large',
    'plain',
    [
      { name: 'gzip bombs of 400 MB', gets: /^(413|503|504|grpc [48])$/ },
      // The connection is closed for one that goes on sending chunks after its 400.
      { name: 'millions of empty pieces', gets: /^(400|413|503|EPIPE|ECONNRESET)$/ },
      { name: '40 uploads of 60 MB', gets: /^(200|503|504)$/ },
    ],
  ],
  [
    'clients that are slow, or come and go',
    'plain',
    [
      { name: '200 answers read slowly or never', gets: /^(closed|ECONNRESET)$/, seconds: 3, mayWait: true },
      { name: '500 slow headers, 500 slow bodies', gets: /^(408|closed|ECONNRESET)$/, mayWait: true },
      { name: 'connection churn', gets: /^(200|503|opened and reset|EPIPE|ECONNRESET)$/ },
    ],
  ],
  [
    'gRPC messages that are dear to decode, calls that bring no inference, and too many requests',
    'plain',
    [
      // Or too late: it waits to be decoded for no longer than its SLO.
      { name: 'grpc messages of millions of parts', gets: /^grpc (3|4|8)$/ },
      { name: 'grpc calls without inference', gets: new RegExp(`^(ended|${CLOSED})$`) },
      { name: 'h2 rapid reset, endless continuation', gets: new RegExp(`^(${CLOSED})$`) },
      // Until they are all under way. The first answers may take longer.
      {
        name: 'grpc 20,000 requests under way',
        gets: new RegExp(`^(ended|${CLOSED})$`),
        seconds: 4,
        mayWait: true,
      },
    ],
  ],
  [
    'strangers, of whom it reads nothing dear',
    'token',
    [{ name: '60 MB of JSON without the token', gets: /^401$/ }],
  ],
  [
    'strangers at the port of a worker',
    'cluster-token',
    [{ name: 'worker: 64 kB gzip of empty messages', gets: /^grpc (9|12|16)$/ }],
  ],
])('a server answers everyone else next to %s', (_, setting, attempts) => withstand(setting, attempts));
