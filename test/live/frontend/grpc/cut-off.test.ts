import { EventEmitter } from 'node:events';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { NS_PER_S } from '../../../../src/base/units.js';
import type { Account } from '../../../../src/live/frontend/budget.js';
import { CallTurns } from '../../../../src/live/frontend/grpc/call-turns.js';
import { Rpc } from '../../../../src/live/frontend/grpc/rpc.js';
import { RpcConnection } from '../../../../src/live/frontend/grpc/rpc-connection.js';
import { ReadingTurns } from '../../../../src/live/frontend/reading-turns.js';

class FakeSession extends EventEmitter {
  destroyed = false;
  readonly closed = false;
  readonly socket = { bytesRead: 0 };

  destroy(): void {
    this.destroyed = true;
  }

  ping(): void {}
}

class FakeStream extends EventEmitter {
  readonly destroyed = false;
  readonly writableEnded = false;
  writableLength = 0;
  respond(): void {}
  pause(): void {}
  resume(): void {}
  close(): void {}
  end(): void {}
}

/** A connection that is looked at so many seconds from now. */
function open(callTurns = new CallTurns()) {
  const session = new FakeSession();
  const said: string[] = [];
  const openedMs = performance.now();
  const connection = new RpcConnection({
    session: session as unknown as ServerHttp2Session,
    socket: session.socket as unknown as Socket,
    account: { clientKey: 'a', isFull: false } as Account,
    ...{ turns: new ReadingTurns(), callTurns, flooded: () => {} },
    cutOff: (why) => said.push(why),
  });
  const look = (seconds: number) => connection.look(seconds * NS_PER_S, openedMs + 1000 * seconds);
  return { session, connection, said, look };
}

/** A call of the connection that has begun now. */
function call(connection: RpcConnection): FakeStream {
  const stream = new FakeStream();
  const method = { isOpen: true, isStream: false, maxMessageBytes: 1000, message: () => {} };
  const timeoutNs = 1000 * NS_PER_S;
  const given = stream as unknown as ServerHttp2Stream;
  connection.began(new Rpc(given, {}, method, connection, 'identity', 0, timeoutNs, performance.now()));
  return stream;
}

describe('it is said why a gRPC client is cut off', () => {
  it('that does not speak HTTP/2', async () => {
    const { session, said, look } = open();
    look(11);
    expect(session.destroyed).toBe(false);
    // Its turn to be read has come.
    await new Promise((resolve) => setImmediate(resolve));
    look(9);
    expect(session.destroyed).toBe(false);
    look(11);
    expect(session.destroyed).toBe(true);
    expect(said).toEqual(['it has not begun to speak HTTP/2 within 10 s']);
  });

  it('that answers no ping', () => {
    const { session, said, look } = open();
    session.emit('remoteSettings');
    for (const seconds of [59, 61, 80]) look(seconds);
    expect(session.destroyed).toBe(false);
    look(82);
    expect(session.destroyed).toBe(true);
    expect(said).toEqual(['it has not answered a ping within 20 s']);
  });

  it('that does not send its message', () => {
    const { session, connection, said, look } = open();
    session.emit('remoteSettings');
    call(connection);
    for (const seconds of [1, 29]) look(seconds);
    expect(said).toEqual([]);
    look(32);
    expect(said).toEqual(['the message has not come within 30 s']);
  });

  it('that does not read its answer', () => {
    const { session, connection, said, look } = open();
    session.emit('remoteSettings');
    call(connection).writableLength = 4711;
    for (const seconds of [1, 29]) look(seconds);
    expect(said).toEqual([]);
    look(32);
    expect(said).toEqual(['nothing of the 4711 bytes of its answer was read within 30 s']);
  });
});

it('short pieces of messages take turns as calls do, eight as much as one; long ones cost no more than their bytes', () => {
  const callTurns = new CallTurns();
  const came = vi.spyOn(callTurns, 'came');
  const { connection } = open(callTurns);
  for (let i = 0; i < 80; i++) connection.came(1);
  expect(came).toHaveBeenCalledTimes(10);
  for (let i = 0; i < 80; i++) connection.came(256);
  expect(came).toHaveBeenCalledTimes(10);
});
