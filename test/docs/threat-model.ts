import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { GIB, KIB, MIB } from '../../src/base/units.js';
import { ROOT } from '../snippets.js';
import { markdownTable } from './markdown.js';

/** A file below test, without `.test.ts`, and a test in it. */
type Test = readonly [file: string, name: string];

/** What the threat model promises, and the tests that show it. */
export const CLAIMS: readonly (readonly [claim: string, ...tests: Test[]])[] = [
  [
    'without the token, strangers get nothing but health',
    ['live/frontend/access', 'is asked for over HTTP, except for the health'],
    ['live/frontend/access', 'is asked for over gRPC, except for the health'],
    [
      'live/observe/telemetry/metrics-server',
      'asks for the token where the server has one, for all but its health',
    ],
    ['serve/access-rules', 'gives strangers what is public, and 401 for all else'],
  ],
  [
    'without the token, nothing of a body or message is read',
    ['live/frontend/http-limits', 'is not read at all without the token'],
    ['live/frontend/grpc/hostile', 'is checked before anything of a call is read'],
    [
      'serve/hostile/access',
      'a server with a token reads nothing dear of those who lack it, and answers everyone else',
    ],
    [
      'serve/hostile/access',
      'a worker with a token reads nothing dear of those who lack it, and its controller serves on',
    ],
  ],
  [
    'TLS encrypts HTTP and gRPC',
    ['live/frontend/access', 'encrypts HTTP'],
    ['live/frontend/access', 'encrypts gRPC'],
  ],
  [
    'workers obey only controllers with their token; those that require TLS use no worker without it',
    ['live/worker/endpoint/worker-endpoint', 'lets in no client with another token'],
    ['live/wire/tls', 'works with the right authority and token'],
    ['live/wire/tls', 'is not opened to a worker that does not encrypt'],
  ],
  [
    'posts of web pages are refused, on the metrics port too',
    ['live/frontend/http-clients', 'are refused by default'],
    [
      'serve/hostile/json',
      'a server refuses JSON that is dear to parse, sizes that lie and pages of other sites, and answers everyone else',
    ],
  ],
  [
    'bodies and messages that are expensive to decode are refused; other clients are answered',
    [
      'serve/hostile/json',
      'a server refuses JSON that is dear to parse, sizes that lie and pages of other sites, and answers everyone else',
    ],
    [
      'serve/hostile/grpc',
      'a server refuses gRPC messages that are dear to decode, and answers everyone else',
    ],
    [
      'serve/hostile/bodies',
      'a server refuses what is dear to decompress or comes in empty pieces, and answers everyone else',
    ],
    ['live/frontend/http-limits', 'is separate from that of the body'],
    ['live/frontend/http-clients', 'are refused where they become larger than a body may be'],
  ],
  [
    'memory has a budget per connection, address and server, with a part for small requests',
    ['live/frontend/budget', 'is limited per connection, per address and in all'],
    ['live/frontend/budget', 'keeps a part for small requests, whatever large ones hold'],
    ['live/frontend/http-limits', 'grows with what has come, not with what was announced'],
  ],
  [
    'gRPC messages without end, unread responses and floods of reflection take limited memory',
    [
      'live/frontend/grpc/hostile',
      'of messages that do not end is limited: the connection is closed, and no other',
    ],
    ['live/frontend/grpc/hostile', 'responses that are never read, which take a limited memory'],
    [
      'live/frontend/grpc/hostile',
      'a stream of questions that reflection answers without end, which take a limited memory',
    ],
  ],
  [
    'answers that are too large are refused before anything runs',
    ['live/frontend/http-limits', 'of too many bytes is refused before anything runs'],
  ],
  [
    'requests under way are limited per address, even if their clients have gone',
    ['live/frontend/client-limits', 'are limited over HTTP and gRPC together, a batch as so many'],
    ['live/frontend/client-limits', 'count until the service answers, although their clients have gone'],
  ],
  [
    'connections are limited, and one address leaves half of them to others',
    [
      'live/frontend/client-limits',
      'beyond the limit learn why over HTTP, are closed over gRPC, and are counted',
    ],
    ['live/frontend/client-limits', 'of one address leave half of them to others'],
  ],
  [
    'clients that send or read too slowly are cut off',
    ['live/frontend/http-limits', 'are cut off when they do not read their answers'],
    ['live/frontend/http-connections', 'are cut off when they never finish their request'],
  ],
  [
    'floods, uploads, and idle, slow or short connections do not stall other clients',
    [
      'serve/hostile/floods',
      'a server closes connections that bring no inference, and answers everyone else',
    ],
    ['serve/hostile/calls', 'a server answers everyone else next to 20,000 requests under way'],
    ['serve/hostile/bodies', 'a server answers everyone else next to 40 uploads at a time'],
    [
      'serve/hostile/connections',
      'a server answers everyone else next to clients that are slow, or come and go',
    ],
    ['live/frontend/grpc/hostile', 'thousands of %s'],
    ['live/frontend/http-connections', 'do not disturb the others when a thousand of them sit idle'],
    ['live/frontend/http-limits', 'does not hold up small requests'],
  ],
  [
    'with `escapement`, `edf`, `shepherd` or `symphony`, requests that can wait keep none out that have less time',
    ['policies/mixed-slos', 'patient requests of a model keep none out that have less time (%s)'],
    ['policies/mixed-slos', 'nor does schedule_ahead where it is tuned'],
  ],
  [
    'a GPU that fails at what other GPUs run loses no request, and is given up',
    [
      'live/controller/gpu-failures',
      'tries their requests again, and gives the GPU up once, with the reason',
    ],
  ],
  [
    'a broken model in the repository costs the others nothing',
    ['live/models/scan', 'finds problems of each model, which cost the others nothing'],
  ],
  [
    'a frontend thread that ends is replaced',
    [
      'live/frontend/thread/frontend-threads',
      'is replaced at the same port when it ends; the process goes on',
    ],
  ],
  [
    'strangers cannot fill the metrics port or the port of a worker',
    ['live/observe/telemetry/strangers', 'do not keep others out with %s'],
    [
      'live/worker/endpoint/hostile',
      'closes the oldest of too many silent connections, and lets a controller in',
    ],
  ],
  [
    'registrations need the token; floods of false ones cost no request and no worker',
    [
      'live/controller/registration/registration-endpoint',
      'refuses a worker with %s, and hears nothing of it',
    ],
    [
      'serve/faults/joining',
      'strangers, false addresses and floods of registrations cost no request and no worker',
    ],
  ],
  [
    'a corrupted message between controller and worker is refused',
    ['live/wire/wire', 'refuses a message with any flipped bit'],
  ],
  [
    'a worker cannot lie about itself, about durations, or about requests of others',
    ['live/controller/link/distrust', 'leaves a worker that %s'],
    ['live/controller/link/distrust', 'believes no duration that it has not waited for'],
    ['live/controller/link/distrust', 'hears no result of what it did not send, nor a second one'],
  ],
  [
    "a sweep's queue makes no worker import code or open other files, and yields only results",
    [
      'run/queue/hostile.long',
      'imports nothing, refuses each forged order with a reason, and then serves an honest sweep',
    ],
    ['run/queue/hostile.long', 'takes no forged result, and has the bytes of an honest one'],
  ],
  [
    'names and messages cannot take over a terminal, a page or a spreadsheet',
    ['cli/hostile-text', 'can only be read on a terminal, in pictures, pages and tables'],
    [
      'live/observe/telemetry/readable-line',
      'a line of the log reads well on a terminal, and cannot take it over',
    ],
  ],
  ['a named pipe as an input file makes no command wait', ['cli/hostile-text', 'ends %s at once, in words']],
  [
    'onnxruntime sends no telemetry',
    ['live/ort/no-telemetry', 'leaves nothing of onnxruntime telemetry in the temporary folder'],
  ],
];

/** Limits that are not flags: what is limited, and the constant or default that holds the number. */
const LIMITS: readonly (readonly [what: string, file: string, constant: string])[] = [
  ['headers of a request', 'frontend/limits.ts', 'MOST_HEADER_BYTES'],
  [
    'gRPC messages without elements of tensors; bodies for the repository',
    'frontend/limits.ts',
    'MOST_CONTROL_BYTES',
  ],
  ['inputs and outputs that a gRPC message names', 'frontend/limits.ts', 'MOST_TENSORS'],
  ['chunks of a body that may be tiny', 'frontend/limits.ts', 'MOST_TINY_CHUNKS'],
  ['TLS handshake', 'frontend/limits.ts', 'handshakeTimeoutMs'],
  ['sending the headers of a request', 'frontend/limits.ts', 'headersTimeoutMs'],
  ['sending a whole request', 'frontend/limits.ts', 'requestTimeoutMs'],
  ['sending a gRPC message, reading its response', 'frontend/grpc/rpc.ts', 'PATIENCE_MS'],
  ['reading nothing of an answer', 'frontend/limits.ts', 'sendTimeoutMs'],
  ['idle between two requests of a connection', 'frontend/limits.ts', 'idleTimeoutMs'],
  ['decoding or encoding one body', 'frontend/limits.ts', 'CODEC_TIMEOUT_MS'],
  ['bodies waiting to be decoded, per thread', 'frontend/limits.ts', 'MOST_CODEC_QUEUE'],
  ['requests in flight per HTTP connection', 'frontend/limits.ts', 'MOST_PIPELINED'],
  ['calls in flight per gRPC connection', 'frontend/grpc-frontend.ts', 'MOST_STREAMS'],
  ['requests in flight per gRPC stream', 'frontend/grpc/infer.ts', 'MOST_UNDER_WAY'],
  [
    'streams that watch the health, per thread; half of them per address',
    'frontend/limits.ts',
    'MOST_WATCHES',
  ],
  ['connections to the metrics port', 'observe/telemetry/metrics-server.ts', 'MOST_CONNECTIONS'],
  ['connections to a worker', 'worker/endpoint/worker-endpoint.ts', 'MOST_CONNECTIONS'],
  ['either, without request or token', 'wire/guarded-port.ts', 'PROBATION_MS'],
  ['connections for registration', 'controller/registration/registration-endpoint.ts', 'MOST_CONNECTIONS'],
  [
    'messages per second of a registered worker',
    'controller/registration/registration-endpoint.ts',
    'MOST_PER_SECOND',
  ],
  ['registered workers', 'controller/registration/registrations.ts', 'MOST_REGISTERED'],
  ['registered workers dialed at once', 'controller/fleet.ts', 'MOST_DIALED'],
  [
    'registered workers of one host, if none has joined',
    'controller/registration/registrations.ts',
    'MOST_OF_HOST',
  ],
  ['text of a message to a worker, or of a registration', 'wire/protocol.ts', 'MOST_TEXT_BYTES'],
  ['text of a message of a worker', 'wire/protocol.ts', 'MOST_DESCRIPTION_BYTES'],
  ['size of a config.pbtxt', 'models/config-pbtxt.ts', 'MOST_BYTES'],
];

export function claimsTable(): string {
  return markdownTable(
    ['claim', 'tests'],
    CLAIMS.map(([claim, ...tests]) => {
      const files = [...new Set(tests.map(([file]) => file))];
      return [claim, files.map((file) => `[${basename(file)}](../../test/${file}.test.ts)`).join(', ')];
    }),
  );
}

export function limitsTable(): string {
  return markdownTable(
    ['limit', 'value'],
    LIMITS.map(([what, file, name]) => [what, shownValue(file, name)]),
  );
}

/** The value of a constant or default as a reader writes it, by its unit. Fails where the source has none. */
function shownValue(file: string, name: string): string {
  const source = readFileSync(join(ROOT, 'src/live', file), 'utf8');
  const text = new RegExp(`const ${name} = ([^;]+);|^    ${name}: ([^,]+),$`, 'm')
    .exec(source)
    ?.slice(1)
    .find(Boolean);
  if (text === undefined) throw new Error(`src/live/${file} has no ${name}`);
  const units: Readonly<Record<string, number>> = { KIB, MIB, GIB };
  const value = text
    .split('*')
    .map((factor) => units[factor.trim()] ?? Number(factor.trim().replaceAll('_', '')))
    .reduce((product, factor) => product * factor, 1);
  if (!Number.isFinite(value))
    throw new Error(`${name} of src/live/${file} is ${text}, which is not understood`);
  if (/ms$/i.test(name)) return `${value / 1000} s`;
  if (/BYTES|RATE/.test(name)) return value % MIB === 0 ? `${value / MIB} MiB` : `${value / KIB} KiB`;
  return value.toLocaleString('en-US');
}
