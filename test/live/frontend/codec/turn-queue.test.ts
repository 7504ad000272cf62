import { expect, it } from 'vitest';
import { TurnQueue } from '../../../../src/live/frontend/codec/turn-queue.js';

function queueOf(items: readonly string[]): TurnQueue<string> {
  const queue = new TurnQueue<string>();
  for (const item of items) queue.push(turnOf(item), item, sizeOf(item));
  return queue;
}

/** `a1x`: item x of tenant 1 of client a; a capital letter is as large as four. */
function turnOf(item: string) {
  return { client: item[0], tenant: Number(item[1]) };
}

function sizeOf(item: string): number {
  return item[2] < 'a' ? 4 : 1;
}

function drain(queue: TurnQueue<string>): string {
  const items: string[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) items.push(item);
  return items.join(' ');
}

it('serves clients in turn, and the tenants of each among themselves', () => {
  expect(drain(queueOf(['a1x', 'a1y', 'a1z', 'a2x', 'b1x', 'b1y']))).toBe('a1x b1x a2x b1y a1y a1z');
});

it('gives a client no more turns because it names many tenants', () => {
  const order = drain(queueOf(['a0x', 'a1x', 'a2x', 'a3x', 'a4x', 'b0x', 'b0y']));
  expect(order).toBe('a0x b0x a1x b0y a2x a3x a4x');
});

it('forgets what was removed, and who has nothing left', () => {
  const queue = queueOf(['a1x', 'a1y', 'b1x']);
  for (const item of ['a1x', 'b1x', 'b1x']) queue.remove(turnOf(item), item);
  expect(drain(queue)).toBe('a1y');
  queue.push(turnOf('b2z'), 'b2z', 1);
  expect(drain(queue)).toBe('b2z');
  expect(queue.shift()).toBeUndefined();
});

it('counts a large item as many small ones, among clients and among tenants', () => {
  const clients = ['a1X', 'a1Y', 'b1a', 'b1b', 'b1c', 'b1d', 'b1e', 'b1f'];
  expect(drain(queueOf(clients))).toBe('a1X b1a b1b b1c b1d a1Y b1e b1f');
  const tenants = clients.map((item) => `a${item[0] === 'a' ? 1 : 2}${item[2]}`);
  expect(drain(queueOf(tenants))).toBe('a1X a2a a2b a2c a2d a1Y a2e a2f');
});

it('owes a newcomer nothing for the time before it came', () => {
  const queue = queueOf(['a1x', 'a1y', 'a1z', 'a1v', 'a1w']);
  expect([queue.shift(), queue.shift(), queue.shift()]).toEqual(['a1x', 'a1y', 'a1z']);
  for (const item of ['b1x', 'b1y', 'b1z']) queue.push(turnOf(item), item, sizeOf(item));
  expect(drain(queue)).toBe('b1x a1v b1y a1w b1z');
});
