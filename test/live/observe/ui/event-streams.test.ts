import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import type { Time } from '../../../../src/base/world/time.js';
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
  const timers: { delayMs: number; run: () => void; isCancelled: boolean }[] = [];
  const after = (delayMs: number, run: () => void) => {
    const timer = { delayMs, run, isCancelled: false };
    timers.push(timer);
    return {
      cancel() {
        timer.isCancelled = true;
      },
    };
  };
  const events = new EventStreams({ after } as unknown as Time, () => 'first');
  const join = () => {
    const client = new Client();
    const { status, body } = events.open(() => {});
    if (typeof body === 'function') body(client as unknown as ServerResponse);
    return { status, client };
  };
  return { events, timers, join };
}

const FIRST = 'event: setup\ndata: first\n\n';
const LARGE = 'x'.repeat(2 ** 20);

it('tells everyone the same, the first event first', () => {
  const { events, join } = streams();
  const { client } = join();
  events.send('rows', '1');
  expect(client.read()).toEqual([FIRST, 'event: rows\ndata: 1\n\n']);
  client.destroy();
  expect(events.isRead).toBe(false);
});

it('does not collect what a slow reader leaves, begins again when it has caught up, and cuts off one that never does', () => {
  const { events, timers, join } = streams();
  const slow = join().client;
  const quick = join().client;
  for (let i = 0; i < 100; i++) {
    events.send('rows', LARGE);
    quick.read();
  }
  expect(slow.writableLength).toBeLessThan(6 * 2 ** 20);
  expect(timers.length).toBe(1);
  slow.read();
  events.send('rows', 'news');
  expect(slow.read()).toEqual([FIRST, 'event: rows\ndata: news\n\n']);
  expect(timers[0].isCancelled).toBe(true);
  for (let i = 0; i < 10; i++) {
    events.send('rows', LARGE);
    quick.read();
  }
  timers.findLast(({ isCancelled }) => !isCancelled)?.run();
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
