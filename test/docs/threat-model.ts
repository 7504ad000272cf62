import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GIB, KIB, MIB } from '../../src/base/units.js';
import { ROOT } from '../snippets.js';
import { markdownTable } from './markdown.js';

/** What the threat model promises, and the test that shows it: a file below test and the name of a test in it. */
export const CLAIMS: readonly (readonly [claim: string, file: string, name: string])[] = [
  [
    'nothing but the health is answered without the token, over HTTP',
    'live/frontend/access.test.ts',
    'is asked for over HTTP, except for the health',
  ],
  [
    'every route of the HTTP and metrics ports follows its access rule',
    'serve/access-rules.test.ts',
    'gives strangers what is public, and 401 for all else',
  ],
  ['the same over gRPC', 'live/frontend/access.test.ts', 'is asked for over gRPC, except for the health'],
  [
    'the metrics port requires the token, too',
    'live/observe/telemetry/metrics-server.test.ts',
    'asks for the token where the server has one, for all but its health',
  ],
  [
    'without the token no body is read',
    'live/frontend/http-limits.test.ts',
    'is not read at all without the token',
  ],
  ['TLS encrypts HTTP', 'live/frontend/access.test.ts', 'encrypts HTTP'],
  ['TLS encrypts gRPC', 'live/frontend/access.test.ts', 'encrypts gRPC'],
  [
    "a controller needs the worker's token",
    'live/worker/endpoint/worker-endpoint.test.ts',
    'lets in no client with another token',
  ],
  [
    'controller and worker prove who they are',
    'live/wire/tls.test.ts',
    'works with the right authority and token',
  ],
  [
    'a worker without TLS is not used by a controller that requires it',
    'live/wire/tls.test.ts',
    'is not opened to a worker that does not encrypt',
  ],
  [
    'JSON that is dear to parse is refused with a reason; other clients are answered, and no process ends',
    'serve/hostile/json.test.ts',
    'a server refuses JSON that is dear to parse, to keep or to answer, and answers everyone else',
  ],
  [
    'the same for gRPC messages that are dear to decode',
    'serve/hostile/grpc.test.ts',
    'a server refuses gRPC messages that are dear to decode, and answers everyone else',
  ],
  [
    'the same for floods',
    'serve/hostile/floods.test.ts',
    'a server closes connections that bring no inference, and answers everyone else',
  ],
  [
    'the same for those who lack the token',
    'serve/hostile/access.test.ts',
    'a server with a token reads nothing dear of those who lack it, and answers everyone else',
  ],
  [
    'the same at the port of a worker',
    'serve/hostile/access.test.ts',
    'a worker with a token reads nothing dear of those who lack it, and its controller serves on',
  ],
  [
    '20,000 requests under way of one address disturb no other',
    'serve/hostile/calls.test.ts',
    'a server answers everyone else next to 20,000 requests under way',
  ],
  [
    'many large binary bodies disturb no other client',
    'serve/hostile/bodies.test.ts',
    'a server answers everyone else next to 20 bodies of 60 MB at a time',
  ],
  [
    'slow readers disturb no other client',
    'serve/hostile/connections.test.ts',
    'a server answers everyone else next to slow readers',
  ],
  [
    'memory of bodies and answers has budgets',
    'live/frontend/budget.test.ts',
    'is limited per connection, per address and in all',
  ],
  [
    'one address has a limited number of requests under way, over HTTP and gRPC together',
    'live/frontend/client-limits.test.ts',
    'are limited over HTTP and gRPC together, a batch as so many',
  ],
  [
    'requests count until they are answered, also those of clients that have gone',
    'live/frontend/client-limits.test.ts',
    'count until the service answers, although their clients have gone',
  ],
  [
    'connections beyond the limit are refused, and counted',
    'live/frontend/client-limits.test.ts',
    'beyond the limit learn why over HTTP, are closed over gRPC, and are counted',
  ],
  [
    'one address leaves half of the connections to others',
    'live/frontend/client-limits.test.ts',
    'of one address leave half of them to others',
  ],
  [
    'large bodies leave a part of the budget to small requests',
    'live/frontend/budget.test.ts',
    'keeps a part for small requests, whatever large ones hold',
  ],
  [
    'memory grows with what has come, not with what a client announces',
    'live/frontend/http-limits.test.ts',
    'grows with what has come, not with what was announced',
  ],
  ['JSON has a limit of its own', 'live/frontend/http-limits.test.ts', 'is separate from that of the body'],
  [
    'bodies cannot grow beyond the limit by decompression',
    'live/frontend/http-clients.test.ts',
    'are refused where they become larger than a body may be',
  ],
  [
    'a large body does not hold up small requests',
    'live/frontend/http-limits.test.ts',
    'does not hold up small requests',
  ],
  [
    'floods of HTTP/2 frames and calls leave the server answering others',
    'live/frontend/grpc/hostile.test.ts',
    'thousands of %s',
  ],
  [
    'gRPC messages that do not end take a limited memory',
    'live/frontend/grpc/hostile.test.ts',
    'of messages that do not end is limited: the connection is closed, and no other',
  ],
  [
    'gRPC responses that are not read take a limited memory',
    'live/frontend/grpc/hostile.test.ts',
    'responses that are never read, which take a limited memory',
  ],
  [
    'answers that are too large are refused before anything runs',
    'live/frontend/http-limits.test.ts',
    'of too many bytes is refused before anything runs',
  ],
  [
    'clients that do not read are cut off',
    'live/frontend/http-limits.test.ts',
    'are cut off when they do not read their answers',
  ],
  [
    'clients that never finish a request are cut off',
    'live/frontend/http-connections.test.ts',
    'are cut off when they never finish their request',
  ],
  [
    'requests of one client that can wait keep none out that have less time',
    'policies/mixed-slos.test.ts',
    'nor does schedule_ahead where it is tuned',
  ],
  [
    'idle connections disturb no one',
    'live/frontend/http-connections.test.ts',
    'do not disturb the others when a thousand of them sit idle',
  ],
  [
    'web pages are refused, on the metrics port too',
    'live/frontend/http-clients.test.ts',
    'are refused by default',
  ],
  [
    'a frontend thread that ends is replaced',
    'live/frontend/thread/frontend-threads.test.ts',
    'is replaced at the same port when it ends; the process goes on',
  ],
  [
    'a corrupted message between controller and worker is refused',
    'live/wire/wire.test.ts',
    'refuses a message with any flipped bit',
  ],
  [
    'strangers cannot fill the metrics port',
    'live/observe/telemetry/strangers.test.ts',
    'do not keep others out with %s',
  ],
  [
    'strangers cannot fill the port of a worker',
    'live/worker/endpoint/hostile.test.ts',
    'closes the oldest of too many silent connections, and lets a controller in',
  ],
  [
    'a worker registers with the token of the workers only',
    'live/controller/registration/registration-endpoint.test.ts',
    'refuses a worker with %s, and hears nothing of it',
  ],
  [
    'registrations, however many and however false, take no worker away and cost no request',
    'serve/faults/joining.test.ts',
    'strangers, false addresses and floods of registrations cost no request and no worker',
  ],
  [
    'a worker cannot be what no worker is',
    'live/controller/link/distrust.test.ts',
    'leaves a worker that %s',
  ],
  [
    'a GPU that fails at what others run loses no request, and is given up',
    'live/controller/gpu-failures.test.ts',
    'tries their requests again, and gives the GPU up once, with the reason',
  ],
  [
    'a worker cannot make up durations',
    'live/controller/link/distrust.test.ts',
    'believes no duration that it has not waited for',
  ],
  [
    'a worker cannot answer what it was not sent',
    'live/controller/link/distrust.test.ts',
    'hears no result of what it did not send, nor a second one',
  ],
  [
    'one broken model costs the others nothing',
    'live/models/scan.test.ts',
    'finds problems of each model, which cost the others nothing',
  ],
  [
    'no job of a queue makes a worker import code or open its own files; each forged job is refused with a reason',
    'run/queue/hostile.long.test.ts',
    'imports nothing, refuses each forged order with a reason, and then serves an honest sweep',
  ],
  [
    'what comes back through a queue is taken only if it is a result and nothing else',
    'run/queue/hostile.long.test.ts',
    'takes no forged result, and has the bytes of an honest one',
  ],
  [
    'names and messages in results that pass for real cannot take over what shows them',
    'run/queue/hostile.long.test.ts',
    'cannot take over what shows it with names and messages that pass for real',
  ],
  [
    'names, keys, paths and messages of others cannot take over a terminal, break a picture or page, or run as a formula in a spreadsheet',
    'cli/hostile-text.test.ts',
    'can only be read on a terminal, in pictures, pages and tables',
  ],
  [
    'a named pipe in place of an input file makes no command wait',
    'cli/hostile-text.test.ts',
    'ends %s at once, in words',
  ],
  [
    'lines of the log cannot take over a terminal',
    'live/observe/telemetry/readable-line.test.ts',
    'a line of the log reads well on a terminal, and cannot take it over',
  ],
  [
    "onnxruntime's telemetry is off",
    'live/ort/no-telemetry.test.ts',
    'leaves nothing of onnxruntime telemetry in the temporary folder',
  ],
];

/** Limits that are not flags: what is limited, and the constant that holds the number. */
const LIMITS: readonly (readonly [what: string, file: string, constant: string])[] = [
  ['headers of a request', 'frontend/limits.ts', 'MOST_HEADER_BYTES'],
  ['time for the headers of a request', 'frontend/limits.ts', 'HEADERS_TIMEOUT_MS'],
  ['time for a whole request', 'frontend/limits.ts', 'REQUEST_TIMEOUT_MS'],
  ['time in which a client must read something of its answer', 'frontend/limits.ts', 'SEND_TIMEOUT_MS'],
  ['time between two requests of a connection', 'frontend/limits.ts', 'IDLE_TIMEOUT_MS'],
  ['time until a connection has made its TLS handshake', 'frontend/limits.ts', 'HANDSHAKE_TIMEOUT_MS'],
  ['requests of one HTTP connection under way', 'frontend/limits.ts', 'MOST_PIPELINED'],
  ['chunks of a body that may be tiny', 'frontend/limits.ts', 'MOST_TINY_CHUNKS'],
  ['time for decoding or encoding one body', 'frontend/limits.ts', 'CODEC_TIMEOUT_MS'],
  ['bodies that wait to be decoded, for each frontend', 'frontend/limits.ts', 'MOST_CODEC_QUEUE'],
  ['calls at a time on one gRPC connection', 'frontend/grpc-frontend.ts', 'MOST_STREAMS'],
  [
    'fields of a gRPC message, without the elements of tensors',
    'frontend/grpc/infer-message.ts',
    'MOST_FIELDS',
  ],
  ['requests of one stream under way', 'frontend/grpc/infer.ts', 'MOST_UNDER_WAY'],
  ['time for a gRPC message, and at least for a response', 'frontend/grpc/rpc.ts', 'PATIENCE_MS'],
  ['connections to the metrics port', 'observe/telemetry/metrics-server.ts', 'MOST_CONNECTIONS'],
  ['connections to the port of a worker', 'worker/endpoint/worker-endpoint.ts', 'MOST_CONNECTIONS'],
  [
    'time that one may stay at either and bring no request or controller',
    'wire/guarded-port.ts',
    'PROBATION_MS',
  ],
  [
    'connections to the port for registrations',
    'controller/registration/registration-endpoint.ts',
    'MOST_CONNECTIONS',
  ],
  [
    'messages of a worker that registers, per second',
    'controller/registration/registration-endpoint.ts',
    'MOST_PER_SECOND',
  ],
  ['workers registered at a time', 'controller/registration/registrations.ts', 'MOST_REGISTERED'],
  [
    'the same of one host, none of which has joined',
    'controller/registration/registrations.ts',
    'MOST_OF_HOST',
  ],
  ['text of a message between controller and worker', 'wire/framing.ts', 'MOST_TEXT_BYTES'],
  ['size of a config.pbtxt', 'models/config-pbtxt.ts', 'MOST_BYTES'],
];

export function claimsTable(): string {
  return markdownTable(
    ['claim', 'test'],
    CLAIMS.map(([claim, file, name]) => [claim, `[${name}](../../test/${file})`]),
  );
}

export function limitsTable(): string {
  return markdownTable(
    ['limit', 'value', 'set in'],
    LIMITS.map(([what, file, name]) => [what, shownValue(file, name), `[${file}](../../src/live/${file})`]),
  );
}

/** The value of a constant as a reader writes it, by its unit. Fails where the source has no such constant. */
function shownValue(file: string, name: string): string {
  const source = readFileSync(join(ROOT, 'src/live', file), 'utf8');
  const text = new RegExp(`const ${name} = ([^;]+);`).exec(source)?.[1];
  if (text === undefined) throw new Error(`src/live/${file} has no constant ${name}`);
  const units: Readonly<Record<string, number>> = { KIB, MIB, GIB };
  const value = text
    .split('*')
    .map((factor) => units[factor.trim()] ?? Number(factor.trim().replaceAll('_', '')))
    .reduce((product, factor) => product * factor, 1);
  if (!Number.isFinite(value))
    throw new Error(`${name} of src/live/${file} is ${text}, which is not understood`);
  if (name.endsWith('_MS')) return `${value / 1000} s`;
  if (/BYTES|RATE/.test(name)) return value % MIB === 0 ? `${value / MIB} MiB` : `${value / KIB} KiB`;
  return value.toLocaleString('en-US');
}
