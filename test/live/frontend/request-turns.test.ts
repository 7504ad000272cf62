import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { RequestTurns } from '../../../src/live/frontend/request-turns.js';
import { FakeService } from './fake-service.js';
import { openHttp } from './fixtures.js';

let nowMs = 0;
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => void vi.restoreAllMocks());

/** Many connections that have a request each, which takes so long to begin. */
function fill(turns: RequestTurns, takesMs: number): { begun: number } {
  const seen = { begun: 0 };
  for (let i = 0; i < 1000; i++)
    turns.push({
      clientKey: `${i % 7}`,
      proceed: () => {
        seen.begun++;
        nowMs += takesMs;
        return 1;
      },
    });
  return seen;
}

async function nextTurn(seen: { begun: number }): Promise<number> {
  const { begun } = seen;
  await new Promise((resolve) => setImmediate(resolve));
  return seen.begun - begun;
}

it.each([
  [0, 16],
  [0.5, 4],
  [3, 1],
])('requests that take %d ms each begin %i in a turn', async (takesMs, expected) => {
  const seen = fill(new RequestTurns(), takesMs);
  for (let turn = 0; turn < 10; turn++) expect(await nextTurn(seen)).toBe(expected);
});

it('turns that accept a connection begin nothing, eight in a row at most', async () => {
  const turns = new RequestTurns();
  const seen = fill(turns, 0);
  const perTurn: number[] = [];
  for (let turn = 0; turn < 18; turn++) {
    turns.accepted();
    perTurn.push(await nextTurn(seen));
  }
  const cycle = [0, 0, 0, 0, 0, 0, 0, 0, 16];
  expect(perTurn).toEqual([...cycle, ...cycle]);
  expect(await nextTurn(seen)).toBe(16);
});

it('each new connection of HTTP counts as one', async () => {
  vi.restoreAllMocks();
  const accepted = vi.spyOn(RequestTurns.prototype, 'accepted');
  const { port } = await openHttp(new FakeService([]));
  for (let nth = 1; nth <= 3; nth++) {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    await expect.poll(() => accepted.mock.calls.length).toBe(nth);
  }
});
