import type { Redis } from 'ioredis';
import { type Card, cardsOf } from './messages.js';
import { KEYS, PREFIX } from './names.js';

/** A card counts for so long after it was last renewed; others renew much more often. */
const CARD_MS = 15_000;
/** What is no longer renewed disappears from the server after this. */
export const KEPT_MS = 3_600_000;

/** Steps in the server that nothing may come between. */
export interface Scripts {
  /** Renews the card in its directory, and returns who is in the other one. */
  announce(own: string, other: string, card: Card): Promise<Card[]>;
  /** Hands in what was found; false: its sweep has ended. */
  answer(sweep: string, answer: string): Promise<boolean>;
  /** Takes the card away, and with the last one what an empty queue leaves behind. */
  leave(own: string, card: Card): Promise<void>;
}

type Command = (...args: (string | number)[]) => Promise<unknown>;

/** The scripts, for one queue. */
export function scriptsFor(client: Redis, queue: string): Scripts {
  const base = `${PREFIX}:${queue}`;
  const define = (name: string, numberOfKeys: number, lua: string): Command => {
    client.defineCommand(name, { numberOfKeys, lua });
    return (client as unknown as Record<string, Command>)[name]!.bind(client);
  };
  const announce = define('escapementAnnounce', 2 + RENEWED.length, ANNOUNCE);
  const answer = define('escapementAnswer', 2, ANSWER);
  const leave = define('escapementLeave', 3 + LASTING.length + LISTS.length, LEAVE);
  const keys = (names: readonly string[]) => names.map((name) => `${base}:${name}`);
  return {
    async announce(own, other, card) {
      const found = await announce(own, other, ...keys(RENEWED), JSON.stringify(card), CARD_MS, KEPT_MS);
      return cardsOf(found as string[]);
    },
    async answer(sweep, text) {
      return (await answer(KEYS.alive(sweep), KEYS.results(sweep), text, KEPT_MS)) === 1;
    },
    async leave(own, card) {
      const all = [own, KEYS.workers, KEYS.sweeps, ...keys(LISTS), ...keys(LASTING)];
      await leave(...all, JSON.stringify(card), LISTS.length);
    },
  };
}

/** What BullMQ keeps of a queue without jobs. */
const LASTING = ['meta', 'events', 'id', 'marker', 'stalled-check', 'stalled'];
/** Of these, what would stay if everybody were killed. */
const RENEWED = ['meta', 'events', 'id'];
/** Where it keeps jobs. */
const LISTS = ['wait', 'active', 'paused', 'prioritized', 'delayed', 'completed', 'failed'];

const ANNOUNCE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, 2 do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now) end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
for i = 3, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
return redis.call('ZRANGE', KEYS[2], 0, 9999)`;

const ANSWER = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1`;

const LEAVE = `
redis.call('ZREM', KEYS[1], ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, 3 do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now) end
for i = 2, 3 + ARGV[2] do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
for i = 4 + ARGV[2], #KEYS do redis.call('DEL', KEYS[i]) end
return 1`;
