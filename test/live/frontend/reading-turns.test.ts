import { describe, expect, it } from 'vitest';
import { KIB, MIB } from '../../../src/base/units.js';
import { ReadingTurns } from '../../../src/live/frontend/reading-turns.js';

/** A body of which a piece comes in each turn of the event loop in which it is not paused. */
class Body {
  readBytes = 0;
  destroyed = false;
  isPaused = false;
  pieces = 0;

  constructor(
    private readonly turns: ReadingTurns,
    readonly clientKey: string,
    private readonly pieceBytes = 64 * KIB,
  ) {}

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  come(): void {
    if (this.isPaused || this.destroyed) return;
    this.pieces++;
    this.turns.read(this, this.pieceBytes);
  }
}

function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function run(bodies: readonly Body[], turns: number): Promise<number[]> {
  const pieces: number[] = [];
  for (let i = 0; i < turns; i++) {
    const before = bodies.reduce((sum, body) => sum + body.pieces, 0);
    for (const body of bodies) body.come();
    pieces.push(bodies.reduce((sum, body) => sum + body.pieces, -before));
    await turnOfLoop();
  }
  return pieces;
}

describe('large bodies', () => {
  it('are read a little in each turn of the event loop, however many come', async () => {
    const turns = new ReadingTurns();
    const bodies = Array.from({ length: 40 }, () => new Body(turns, 'a'));
    const pieces = await run(bodies, 200);
    // All at their beginning, when none is known to be large.
    expect(Math.max(...pieces.slice(10))).toBeLessThanOrEqual(4);
    // None waits for good.
    const each = bodies.map((body) => body.pieces);
    expect(Math.min(...each)).toBeGreaterThan(15);
    expect(Math.max(...each)).toBeLessThan(30);
  });

  it('take turns by client, however many one of them sends', async () => {
    const turns = new ReadingTurns();
    const many = Array.from({ length: 39 }, () => new Body(turns, 'a'));
    const one = new Body(turns, 'b');
    await run([...many, one], 200);
    expect(one.pieces).toBeGreaterThan(100);
  });

  it('are read as fast as they come if there is one', async () => {
    const turns = new ReadingTurns();
    const body = new Body(turns, 'a');
    const pieces = await run([body], 100);
    expect(pieces).toEqual(new Array(100).fill(1));
  });

  it('that are gone hold up no other', async () => {
    const turns = new ReadingTurns();
    const gone = Array.from({ length: 50 }, () => new Body(turns, 'a', MIB));
    const body = new Body(turns, 'a', MIB);
    for (const each of gone) each.come();
    body.come();
    for (const each of gone) each.destroyed = true;
    await turnOfLoop();
    expect(body.isPaused).toBe(false);
  });
});
