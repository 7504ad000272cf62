import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FrontendRequest } from '../../../src/live/frontend/http-request.js';
import { linger } from '../../../src/live/frontend/linger.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A request that was refused before its body came. */
class Refused extends EventEmitter {
  readonly response = { end: vi.fn() };
  readonly site = { turns: { read: vi.fn() } };
  readonly resume = vi.fn();

  constructor() {
    super();
    linger(this as unknown as FrontendRequest);
  }

  get isOver(): boolean {
    return this.response.end.mock.calls.length > 0;
  }

  /** A piece after each pause, until the connection ends. Returns how long that took, in ms. */
  send(pieceBytes: number, pauseMs: number): number {
    for (let ms = 0; ; ms += pauseMs) {
      if (this.isOver) return ms;
      this.emit('data', Buffer.alloc(pieceBytes));
      vi.advanceTimersByTime(pauseMs);
    }
  }
}

describe('a client whose body is refused before it was sent', () => {
  it('is listened to while it sends, if slowly, and for half a minute', () => {
    expect(new Refused().send(100_000, 900)).toBeGreaterThan(29_000);
    expect(new Refused().send(100_000, 900)).toBeLessThan(32_000);
  });

  it('is heard to its end, and a second after it has stopped', () => {
    const refused = new Refused();
    refused.emit('data', Buffer.alloc(100_000));
    vi.advanceTimersByTime(999);
    expect(refused.isOver).toBe(false);
    vi.advanceTimersByTime(2);
    expect(refused.isOver).toBe(true);
    const whole = new Refused();
    whole.emit('end');
    expect(whole.isOver).toBe(true);
  });

  it('is not listened to beyond a quarter of a gibibyte, or a hundred tiny pieces', () => {
    expect(new Refused().send(2 ** 24, 100)).toBe(1600);
    expect(new Refused().send(100, 10)).toBe(1000);
  });
});
