import { EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { KIB, MIB } from '../../../../src/base/units.js';
import { Rpc } from '../../../../src/live/frontend/grpc/rpc.js';
import type { RpcOwner } from '../../../../src/live/frontend/grpc/rpc-owner.js';
import { ReadingTurns } from '../../../../src/live/frontend/reading-turns.js';

/** A stream that brings a piece of a message in each turn of the event loop in which it is not paused. */
class FakeStream extends EventEmitter {
  writableEnded = false;
  destroyed = false;
  aborted = false;
  isPaused = false;
  pieces = 0;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  come(piece: Buffer): void {
    if (this.isPaused) return;
    this.pieces++;
    this.emit('data', piece);
  }
}

/** A call whose message of `bytes` begins. */
function begin(turns: ReadingTurns, bytes: number, messages: number[]): FakeStream {
  const stream = new FakeStream();
  const owner: RpcOwner = {
    ...{ clientKey: 'a', turns, quota: { ask: () => null, answered: () => {} } },
    ...{ take: () => {}, giveBack: () => {}, came: () => {}, moved: () => {}, crumbled: () => {} },
    ...{ served: () => {}, idle: () => false, another: () => false, done: () => {}, cutOff: () => {} },
  };
  const method = {
    ...{ isOpen: true, isStream: true, maxMessageBytes: 64 * MIB },
    message: (_: Rpc, message: Uint8Array) => void messages.push(message.length),
  };
  new Rpc(stream as unknown as ServerHttp2Stream, {}, method, owner, 'identity', 0, 1e12, 0);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes, 1);
  stream.emit('data', prefix);
  return stream;
}

describe('large messages', () => {
  it('are read a little in each turn of the event loop, and to their end', async () => {
    const turns = new ReadingTurns();
    const messages: number[] = [];
    const piece = Buffer.alloc(64 * KIB);
    const streams = Array.from({ length: 40 }, () => begin(turns, MIB, messages));
    const perTurn: number[] = [];
    for (let turn = 0; messages.length < 40 && turn < 500; turn++) {
      const before = streams.reduce((sum, { pieces }) => sum + pieces, 0);
      for (const stream of streams) if (stream.pieces < 16) stream.come(piece);
      perTurn.push(streams.reduce((sum, { pieces }) => sum + pieces, -before));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(messages).toEqual(new Array(40).fill(MIB));
    // Up to 256 KiB none is known to be large.
    expect(Math.max(...perTurn.slice(6))).toBeLessThanOrEqual(4);
  });

  it('leave small ones alone, however many came before on the same stream', async () => {
    const turns = new ReadingTurns();
    const messages: number[] = [];
    const large = Array.from({ length: 40 }, () => begin(turns, 8 * MIB, []));
    const stream = begin(turns, 1000, messages);
    const small = Buffer.alloc(1005);
    small.writeUInt32BE(1000, 1);
    stream.emit('data', Buffer.alloc(1000));
    for (let turn = 0; turn < 400; turn++) {
      for (const each of large) each.come(Buffer.alloc(64 * KIB));
      stream.emit('data', small);
      expect(stream.isPaused).toBe(false);
      if (turn % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(messages).toHaveLength(401);
  });
});
