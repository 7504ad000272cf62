import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_OK, OUTCOME_REJECTED, type Outcome } from '../../src/core/request.js';
import { openTarget } from '../../src/load/open-target.js';
import { noAnswer, type Reply } from '../../src/load/reply.js';
import { retrying } from '../../src/load/retrying-target.js';
import type { LoadTarget } from '../../src/load/target.js';
import { HttpServer } from './http-server.js';

const MS = 1e6;
const OK: Reply = { status: 'HTTP 200', message: '' };
const COME_BACK: Reply = { status: 'HTTP 503', message: 'it stands by' };

/** Answers the first request with the first reply, the second with the second, and so on. */
function scripted(...replies: Reply[]): LoadTarget & { readonly sentMs: number[] } {
  const sentMs: number[] = [];
  return {
    ...{ name: 'scripted', waited: 3, sentMs, close: () => {}, dropUnsent: () => 5 },
    send: (_, done) => {
      const reply = replies[sentMs.length] ?? COME_BACK;
      sentMs.push(performance.now());
      queueMicrotask(() => done(reply.status === OK.status ? OUTCOME_OK : OUTCOME_ERROR, reply));
    },
  };
}

describe('a target that retries', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each<[string, Reply]>([
    ['that is asked to come back', COME_BACK],
    ['that is asked so over gRPC', { status: 'gRPC UNAVAILABLE', message: '' }],
    ['whose connection breaks', noAnswer('reset', 'lost')],
    ['that could not be sent', noAnswer('refused', 'neverSent')],
  ])('sends a request again %s, and gives its last answer once', async (_, reply) => {
    const inner = scripted(reply, reply, OK);
    const target = retrying(inner);
    const answers: unknown[][] = [];
    target.send({ model: 0, sloNs: 1000 * MS }, (...answer) => answers.push(answer));
    await vi.advanceTimersByTimeAsync(5000);
    expect(answers).toEqual([[OUTCOME_OK, OK]]);
    expect(inner.sentMs).toEqual([0, 50, 150]);
    expect(target.retries).toEqual({ requests: 1, attempts: 2 });
  });

  it('gives up when the SLO has passed, with the last reason', async () => {
    const inner = scripted();
    const target = retrying(inner);
    const answers: unknown[][] = [];
    target.send({ model: 0, sloNs: 200 * MS }, (...answer) => answers.push(answer));
    await vi.advanceTimersByTimeAsync(5000);
    expect(answers).toEqual([[OUTCOME_ERROR, COME_BACK]]);
    expect(inner.sentMs).toEqual([0, 50, 150]);
  });

  it.each(['HTTP 200', 'HTTP 429', 'HTTP 500', 'HTTP 504', 'gRPC INTERNAL'])(
    'takes %s for an answer',
    async (status) => {
      const inner = scripted({ status, message: '' });
      const target = retrying(inner);
      let answers = 0;
      target.send({ model: 0, sloNs: 1000 * MS }, () => answers++);
      await vi.advanceTimersByTimeAsync(5000);
      expect([answers, inner.sentMs.length]).toEqual([1, 1]);
      expect(target.retries).toEqual({ requests: 0, attempts: 0 });
    },
  );

  it('counts what it was about to send again as unsent, and sends it no more', async () => {
    const inner = scripted();
    const target = retrying(inner);
    target.send({ model: 0, sloNs: 1000 * MS }, () => {});
    await vi.advanceTimersByTimeAsync(10);
    expect(target.dropUnsent?.()).toBe(1 + 5);
    await vi.advanceTimersByTimeAsync(5000);
    expect(inner.sentMs).toHaveLength(1);
  });
});

it('is what a server is opened as on request only', async () => {
  let asked = 0;
  const server = await HttpServer.open({
    infer: (inference) => inference.answer(asked++ % 2 === 0 ? 503 : 200),
  });
  const options = { models: ['a'], seed: 1 };
  const outcomes: Outcome[] = [];
  for (const retry of [true, false]) {
    const target = await openTarget(server.url, { ...options, retry });
    await new Promise<void>((resolve) =>
      target.send({ model: 0, sloNs: 5000 * MS }, (outcome) => {
        outcomes.push(outcome);
        resolve();
      }),
    );
    expect(target.retries).toEqual(retry ? { requests: 1, attempts: 1 } : undefined);
    target.close();
  }
  expect(outcomes[0]).toBe(OUTCOME_OK);
  expect([OUTCOME_ERROR, OUTCOME_REJECTED]).toContain(outcomes[1]);
});
