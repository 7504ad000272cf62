import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { EventStreams } from '../../../../src/live/observe/ui/event-streams.js';

/** A client whose connection takes nothing unless a test reads. */
class Client {
  written: string[] = [];
  writableLength = 0;
  isCut = false;
  private closed = () => {};

  once(_event: 'close', closed: () => void): void {
    this.closed = closed;
  }

  write(text: string): void {
    this.written.push(text);
    this.writableLength += text.length;
  }

  read(): string[] {
    this.writableLength = 0;
    return this.written.splice(0);
  }

  destroy(): void {
    this.isCut = true;
    this.closed();
  }
}

function streams() {
  const events = new EventStreams(() => 'first');
  const join = () => {
    const client = new Client();
    const { status, body } = events.open(() => {});
    if (typeof body === 'function') body(client as unknown as ServerResponse);
    return { status, client };
  };
  return { events, join };
}

const FIRST = 'event: setup\ndata: first\n\n';
const LARGE = 'x'.repeat(2 ** 20);

it('tells everyone the same, the first event first and when the state is out of date', () => {
  const { events, join } = streams();
  const { client } = join();
  events.send('rows', '1');
  events.beginAgain();
  expect(client.read()).toEqual([FIRST, 'event: rows\ndata: 1\n\n', FIRST]);
  client.destroy();
  expect(events.isRead).toBe(false);
});

it('does not collect what a slow reader leaves: it is cut off', () => {
  const { events, join } = streams();
  const slow = join().client;
  const quick = join().client;
  for (let i = 0; i < 100; i++) {
    events.send('rows', LARGE);
    quick.read();
  }
  expect(slow.writableLength).toBeLessThan(6 * 2 ** 20);
  expect([slow.isCut, quick.isCut]).toEqual([true, false]);
});

it('has so many readers at most, and takes another when one has left', () => {
  const { join } = streams();
  const clients = [1, 2, 3, 4].map(() => join());
  expect(clients.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(join().status).toBe(503);
  clients[2].client.destroy();
  expect(join().status).toBe(200);
});
