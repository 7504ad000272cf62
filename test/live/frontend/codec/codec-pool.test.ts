import type { Worker as Thread } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CodecPool, type CodecPoolOptions } from '../../../../src/live/frontend/codec/codec-pool.js';
import { Refusal } from '../../../../src/live/frontend/refusal.js';

const TURN = { client: 'a', tenant: 0 };

const pools: CodecPool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

function open(options: Partial<CodecPoolOptions> = {}): CodecPool {
  const pool = new CodecPool({
    threads: 1,
    heapMib: 64,
    jobTimeoutMs: 60_000,
    queueTimeoutMs: 60_000,
    ...options,
  });
  pools.push(pool);
  return pool;
}

function inflate(
  pool: CodecPool,
  body: Uint8Array,
  limitBytes: number,
  client = 'a',
  tenant = 0,
): Promise<Uint8Array> {
  return new Promise((coded, reject) => {
    const notCoded = (refusal: Refusal) => reject(refusal);
    const input = { encoding: 'gzip', body, expectedBytes: limitBytes, limitBytes } as const;
    pool.run('inflateBody', input, [], { client, tenant }, { isGone: false, coded, notCoded });
  });
}

describe('codec threads', () => {
  it('do a job and give back its result', async () => {
    const whole = await inflate(open(), gzipSync('hello'), 5);
    expect(Buffer.from(whole).toString()).toBe('hello');
  });

  it('refuse what the client got wrong, in the same words as the asking thread', async () => {
    const pool = open();
    await expect(inflate(pool, gzipSync('hello'), 4)).rejects.toMatchObject({
      kind: 'tooLarge',
      message: 'the body is larger than 4 bytes when decompressed',
    });
    await expect(inflate(pool, Buffer.from('hello'), 4)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('free what a job got as soon as it is done', async () => {
    const pool = open();
    // The thread itself takes memory as it starts.
    await inflate(pool, gzipSync('hello'), 5);
    const { arrayBuffers } = process.memoryUsage();
    const waiting = { isGone: false, coded: () => {}, notCoded: () => {} };
    for (let i = 0; i < 4; i++) {
      const body = Buffer.allocUnsafeSlow(10_000_000);
      const input = { encoding: 'gzip', body, expectedBytes: 1, limitBytes: 1 } as const;
      pool.run('inflateBody', input, [body.buffer], TURN, waiting);
    }
    await inflate(pool, gzipSync('hello'), 5);
    // It was counted where it was made, and is gone before the thread takes its next job.
    expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(1_000_000);
  });

  it('serve clients in turn, however much one of them wants', async () => {
    const pool = open();
    const order: string[] = [];
    const ask = (client: string) => inflate(pool, gzipSync('x'), 1, client).then(() => order.push(client));
    await Promise.all([...Array.from({ length: 10 }, () => ask('greedy')), ask('modest')]);
    expect(order.indexOf('modest')).toBeLessThanOrEqual(2);
  });

  it('serve the tenants of a client in turn, as those behind a proxy', async () => {
    const pool = open();
    const order: number[] = [];
    const ask = (tenant: number) =>
      inflate(pool, gzipSync('x'), 1, 'proxy', tenant).then(() => order.push(tenant));
    await Promise.all([...Array.from({ length: 10 }, () => ask(1)), ask(2)]);
    expect(order.indexOf(2)).toBeLessThanOrEqual(2);
  });

  it('know how many bodies of the same sender were before one', async () => {
    const pool = open();
    const seen: number[] = [];
    const ask = (client: string) =>
      new Promise<void>((resolve) => {
        const limit = {
          leftMs: 60_000,
          refusal: (_waitedMs: number, ahead: number) => {
            seen.push(ahead);
            return null;
          },
        };
        const input = { encoding: 'gzip', body: gzipSync('x'), expectedBytes: 1, limitBytes: 1 } as const;
        const waiting = { isGone: false, limit, coded: () => resolve(), notCoded: () => resolve() };
        pool.run('inflateBody', input, [], { client, tenant: 0 }, waiting);
      });
    await Promise.all(['a', 'a', 'a', 'a', 'b'].map(ask));
    // The first one is taken at once.
    expect(seen.toSorted()).toEqual([0, 0, 0, 1, 2]);
  });

  it('end when a job takes too long, and the job is refused', async () => {
    const pool = open({ jobTimeoutMs: 1 });
    const bomb = gzipSync(Buffer.alloc(100_000_000));
    await expect(inflate(pool, bomb, 1e9)).rejects.toMatchObject({ kind: 'tooLarge' });
  });

  it.each(['ends', 'throws'])('leave no job without an answer when one %s', async (how) => {
    const pool = open();
    const bomb = gzipSync(Buffer.alloc(100_000_000));
    const [first, second] = [inflate(pool, bomb, 1e9), inflate(pool, gzipSync('hello'), 5)];
    const { thread } = (pool as unknown as { readonly seats: readonly { readonly thread: Thread }[] })
      .seats[0];
    if (how === 'ends') void thread.terminate();
    else thread.emit('error', new Error('a bug'));
    await expect(first).rejects.toMatchObject({ kind: 'failed' });
    expect(Buffer.from(await second).toString()).toBe('hello');
  });

  it('refuse only what cannot be sent to them', async () => {
    const pool = open();
    const body = gzipSync('hello');
    const waits = inflate(pool, body, 5);
    const refused = Promise.allSettled(
      [1, 2].map(() => inflate(pool, Object.assign([], { some: () => 1 }) as unknown as Uint8Array, 1)),
    );
    const after = inflate(pool, body, 5);
    await waits;
    for (const each of await refused) expect(each).toMatchObject({ reason: { kind: 'failed' } });
    expect(Buffer.from(await after).toString()).toBe('hello');
  });

  it('do not begin a job whose client has left', async () => {
    const pool = open();
    const first = inflate(pool, gzipSync('a'), 1);
    const waiting = { isGone: false, coded: vi.fn(), notCoded: vi.fn() };
    const input = { encoding: 'gzip', body: gzipSync('b'), expectedBytes: 1, limitBytes: 1 } as const;
    pool.run('inflateBody', input, [], TURN, waiting);
    waiting.isGone = true;
    await first;
    await inflate(pool, gzipSync('c'), 1);
    expect(waiting.coded).not.toHaveBeenCalled();
    expect(waiting.notCoded.mock.calls).toMatchObject([[{ message: 'the client is gone' }]]);
  });

  it('refuse a body that waits too long for them, but not an answer', async () => {
    const pool = open({ queueTimeoutMs: 1 });
    const bomb = gzipSync(Buffer.alloc(100_000_000));
    const first = inflate(pool, bomb, 1e9);
    const second = inflate(pool, gzipSync('hello'), 5);
    const answer = new Promise((coded, notCoded) => {
      const text = { id: null, name: 'm', version: '1', batchSize: 1, sloMet: true, outputs: [] };
      const input = { answer: text, compression: null };
      pool.run('encodeAnswer', input, [], TURN, { isGone: false, coded, notCoded });
    });
    await expect(second).rejects.toMatchObject({
      kind: 'tooBusy',
      message:
        'the body waited 0.001 s to be decoded, as others do: try again later, or send tensors as binary data',
    });
    expect((await first).length).toBe(100_000_000);
    expect(Buffer.from((await answer) as Uint8Array).toString()).toContain('"model_name":"m"');
  });

  it('refuse a body at its own limit while it waits', async () => {
    const pool = open();
    const over: string[] = [];
    const first = inflate(pool, gzipSync(Buffer.alloc(100_000_000)), 1e9).then(() => over.push('first'));
    const asked: number[] = [];
    await new Promise<void>((resolve) => {
      const refusal = (waitedMs: number) => {
        asked.push(waitedMs);
        return asked.length < 3 ? null : new Refusal('timeout', 'too late');
      };
      const input = { encoding: 'gzip', body: gzipSync('b'), expectedBytes: 1, limitBytes: 1 } as const;
      const notCoded = ({ message }: Refusal) => resolve(void over.push(message));
      const limit = { leftMs: 1, refusal };
      pool.run('inflateBody', input, [], TURN, { isGone: false, limit, coded: () => resolve(), notCoded });
    });
    await first;
    expect(over).toEqual(['too late', 'first']);
    expect(asked).toEqual([...asked].sort((a, b) => a - b));
  });

  it('refuse all that is left when the pool closes', async () => {
    const pool = open();
    const jobs = [inflate(pool, gzipSync('a'), 1), inflate(pool, gzipSync('b'), 1)];
    const settled = Promise.allSettled(jobs);
    await pool.close();
    const results = await settled;
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(inflate(pool, gzipSync('c'), 1)).rejects.toMatchObject({ kind: 'notReady' });
  });
});
