import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { Budget, budgetLimits } from '../../../src/live/frontend/budget.js';
import { gateConnections } from '../../../src/live/frontend/connection-gate.js';
import { takeOver } from '../../../src/live/frontend/last-refusal.js';
import { RefusalCounts } from '../../../src/live/frontend/refusal-counts.js';
import { TURN_REQUESTS } from '../../../src/live/frontend/request-turns.js';
import { TurnedAway } from '../../../src/live/frontend/turned-away.js';
import { FakeService } from './fake-service.js';
import { openGrpc, openHttp } from './fixtures.js';

const LIMITS = budgetLimits({
  ...{ maxInflightBytes: 1e9, maxBodyBytes: 1e6 },
  ...{ maxConnections: 10_000, maxClientRequests: null },
});

it('silent connections that are hung up at once end by turns', async () => {
  const server = createServer({ allowHalfOpen: true });
  onTestFinished(() => {
    server.close();
  });
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  onTestFinished(() => {
    isOver = true;
  });
  /** Silent connections that ended, by turn of the event loop. */
  const ends = new Map<number, number>();
  let opened = 0;
  let spokenEnded = false;
  server.on('connection', (socket: Socket) => {
    opened++;
    socket.resume();
    socket.on('end', () => {
      if (socket.bytesRead > 0) spokenEnded = true;
      else ends.set(turn, (ends.get(turn) ?? 0) + 1);
      socket.end();
    });
  });
  gateConnections(server, {
    ...{ budget: new Budget(LIMITS), refusals: new RefusalCounts(null, 'http') },
    ...{ turnedAway: new TurnedAway(), farewell: null, firstRecordMs: null },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  const [speaking] = clients.slice(-1);
  speaking.write('x');
  await expect.poll(() => opened).toBe(200);
  const closed = Promise.all(clients.map((client) => once(client.resume(), 'close')));
  count();
  for (const client of clients) client.end();
  await closed;
  expect(spokenEnded).toBe(true);
  expect([...ends.values()].reduce((sum, each) => sum + each, 0)).toBe(199);
  // A turn may begin on either side of the count.
  expect(Math.max(...ends.values())).toBeLessThanOrEqual(2 * TURN_REQUESTS);
  expect(ends.size).toBeGreaterThanOrEqual(199 / (2 * TURN_REQUESTS));
});

it('one that is closed before its turn does not end', async () => {
  const server = createServer({ allowHalfOpen: true });
  onTestFinished(() => {
    server.close();
  });
  const sockets: Socket[] = [];
  let ended = 0;
  server.on('connection', (socket: Socket) => {
    sockets.push(socket.resume());
    socket.on('end', () => {
      ended++;
      for (const each of sockets) each.destroy();
    });
  });
  gateConnections(server, {
    ...{ budget: new Budget(LIMITS), refusals: new RefusalCounts(null, 'http') },
    ...{ turnedAway: new TurnedAway(), farewell: null, firstRecordMs: null },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: 50 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  await expect.poll(() => sockets.length).toBe(50);
  const closed = Promise.all(clients.map((client) => once(client.resume(), 'close')));
  for (const client of clients) client.end();
  await closed;
  expect(ended).toBe(1);
});

it('one that CONNECT took from HTTP does not end at the parser, which another connection has by then', async () => {
  const server = createHttpServer();
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const problems: unknown[] = [];
  server.on('clientError', (error) => problems.push(error));
  gateConnections(server, {
    ...{ budget: new Budget(LIMITS), refusals: new RefusalCounts(null, 'http') },
    ...{ turnedAway: new TurnedAway(), farewell: null, firstRecordMs: null },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const tunnel = connect(port, '127.0.0.1');
  tunnel.write('CONNECT x:443 HTTP/1.1\r\nhost: x:443\r\n\r\n');
  const [, taken] = (await once(server, 'connect')) as [unknown, Socket];
  takeOver(taken);
  const other = connect(port, '127.0.0.1');
  other.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const ended = once(taken, 'end');
  tunnel.end();
  await ended;
  other.write('67890');
  expect(await text(request)).toBe('1234567890');
  expect(problems).toEqual([]);
  taken.destroy();
  other.destroy();
});

it.each([
  ['HTTP', openHttp],
  ['gRPC', openGrpc],
])('a connection over %s that is hung up is closed, silent or not', async (_, open) => {
  const { port } = await open(new FakeService([]));
  for (const said of ['', 'PRI * HTTP/2.0\r\n']) {
    const client = connect(port, '127.0.0.1').on('error', () => {});
    await once(client, 'connect');
    if (said !== '') client.write(said);
    client.resume().end();
    await once(client, 'close');
    expect(client.destroyed).toBe(true);
  }
});
