import { createServer } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { field } from '../../../bench/live/hostile/protobuf.js';
import { CountingClients } from './counting-clients.js';
import { GrpcAsker, StreamAsker } from './grpc-asker.js';
import { HttpAsker, type Place } from './http-asker.js';
import { framed, idOf, unframed } from './protocol-bytes.js';
import type { Asker, Tally } from './tally.js';

/*
 * Servers of a few lines that answer as the protocol has it, but each request twice, or in the name of another one: the
 * clients that count in the fault tests must not miss it.
 */

/** How a server answers a request: `answer` sends one to the request of that id. */
type Manner = (answer: (id: string) => void, id: string) => void;

const MANNERS: Readonly<Record<string, Manner>> = {
  once: (answer, id) => answer(id),
  'twice at once': (answer, id) => {
    answer(id);
    answer(id);
  },
  'twice, the second time a moment later': (answer, id) => {
    answer(id);
    setTimeout(() => answer(id), 3);
  },
  'twice, the second time next to another answer': (answer, id) => {
    answer(id);
    setTimeout(() => answer(id), 25);
  },
  'first in the name of another request': (answer, id) => {
    answer('another');
    answer(id);
  },
};

const OUTPUT = [0];
const OUTPUT_BYTES = Buffer.from(new Float32Array(OUTPUT).buffer);

function httpServer(manner: Manner): Server {
  return createServer((request) => {
    let text = '';
    request.on('data', (part) => {
      text += part;
    });
    request.on('end', () =>
      manner((id) => {
        const body = JSON.stringify({ id, outputs: [{ data: OUTPUT }] });
        request.socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      }, JSON.parse(text).id),
    );
  });
}

function grpcServer(manner: Manner): Server {
  const server = createHttp2Server();
  server.on('stream', (stream, headers) => {
    const isStream = headers[':path']?.endsWith('ModelStreamInfer') === true;
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    let received = Buffer.alloc(0);
    stream.on('data', (bytes: Buffer) => {
      const { messages, rest } = unframed(Buffer.concat([received, bytes]));
      received = Buffer.from(rest);
      for (const message of messages) manner((id) => send(stream, id, isStream), idOf(message));
    });
    // A call lasts long enough for whatever its manner is to send.
    if (!isStream) stream.on('end', () => setTimeout(() => stream.end(), 30));
  });
  return server;
}

function send(stream: ServerHttp2Stream, id: string, isStream: boolean): void {
  const response = Buffer.concat([field(3, id), field(6, OUTPUT_BYTES)]);
  if (stream.writable) stream.write(framed(isStream ? field(2, response) : response));
}

type Doubled = (what: string) => void;

const TRANSPORTS: readonly (readonly [
  string,
  (manner: Manner) => Server,
  (place: Place, doubled: Doubled) => Asker,
])[] = [
  ['HTTP', httpServer, (place, doubled) => new HttpAsker(place, doubled)],
  ['gRPC', grpcServer, (place, doubled) => new GrpcAsker(place, doubled)],
  ['a gRPC stream', grpcServer, (place, doubled) => new StreamAsker(place, doubled)],
];

/** What two clients of one server count, which each ask some questions. */
async function countedOf(
  [, serve, connect]: (typeof TRANSPORTS)[number],
  manner: Manner,
  isOver: (tally: Tally) => boolean,
): Promise<Tally> {
  const server = serve(manner);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => void server.close());
  const place = { port: () => (server.address() as AddressInfo).port, ca: null };
  const clients = new CountingClients(
    (doubled) => [connect(place, doubled), connect(place, doubled)],
    [{ name: 'm', width: 2, right: () => OUTPUT }],
    1000,
  );
  await expect.poll(() => isOver(clients.tally)).toBe(true);
  return clients.stop();
}

describe.each(TRANSPORTS)('clients over %s', (...transport) => {
  it('find nothing wrong with a server that answers each request once', async () => {
    const tally = await countedOf(transport, MANNERS.once, ({ ok }) => ok >= 10);
    const { doubled, wrong, lost, broken, failures } = tally;
    expect({ doubled, wrong, lost, broken, failures: [...failures] }).toEqual({
      doubled: [],
      wrong: [],
      lost: 0,
      broken: 0,
      failures: [],
    });
  });

  it.each(Object.keys(MANNERS).filter((name) => name !== 'once'))(
    'catch a server that answers %s',
    async (name) => {
      const { doubled, wrong } = await countedOf(
        transport,
        MANNERS[name],
        (tally) => tally.doubled.length + tally.wrong.length > 0 || tally.ok >= 100,
      );
      expect(doubled.length + wrong.length).toBeGreaterThan(0);
    },
  );
});
