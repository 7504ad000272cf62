import { describe, expect, it } from 'vitest';
import { BodyCollector } from '../../../src/live/frontend/body-collector.js';
import { Refusal } from '../../../src/live/frontend/refusal.js';

const PIECE = Buffer.from(Array.from({ length: 64_000 }, (_, i) => (i * 7) % 251));

/** As Node gives each: in a buffer of its own. */
function piece(): Buffer {
  const own = Buffer.allocUnsafeSlow(PIECE.length);
  PIECE.copy(own);
  return own;
}

/** Collects so many pieces; what the owner was asked to hold. */
function collect(collector: BodyCollector, pieces: number): number[] {
  const held: number[] = [];
  const owner = {
    hold(bytes: number): null {
      held.push(bytes);
      return null;
    },
  };
  for (let i = 0; i < pieces; i++) expect(collector.add(piece(), owner)).toBeNull();
  return held;
}

describe('BodyCollector', () => {
  it.each([100 * 64_000, -1])('puts a body together (announced: %i bytes)', (announcedBytes) => {
    const collector = new BodyCollector(50_000_000, announcedBytes);
    collect(collector, 100);
    expect(collector.finish().equals(Buffer.concat(Array.from({ length: 100 }, () => PIECE)))).toBe(true);
  });

  it('holds memory for what has come, a few times as much at most', () => {
    const held = collect(new BodyCollector(60_000_000, 60_000_000), 40);
    expect(held.at(-1)).toBeGreaterThanOrEqual(40 * 64_000);
    expect(held.at(-1)).toBeLessThanOrEqual(4 * 40 * 64_000);
  });

  it('has one buffer after a few pieces, so that no more is copied', () => {
    const collector = new BodyCollector(60_000_000, 4_000_000);
    collect(collector, 3);
    const { buffer } = collector.finish();
    collect(collector, 50);
    expect(collector.finish().buffer).toBe(buffer);
    expect(buffer.byteLength).toBe(4_000_000);
  });

  it.each([-1, 60_000_000])(
    'has it from the second megabyte on where %i bytes are announced',
    (announced) => {
      const collector = new BodyCollector(60_000_000, announced);
      collect(collector, 10);
      expect(collector.finish().buffer.byteLength).toBeLessThan(4_000_000);
      collect(collector, 20);
      expect(collector.finish().buffer.byteLength).toBe(60_000_000);
    },
  );

  it('leaves the pieces of a body that is announced as a large one to the collector', () => {
    const owner = { hold: () => null };
    for (const [announcedBytes, isFreed] of [
      [4 << 20, true],
      [(4 << 20) + 1, false],
    ] as const) {
      const collector = new BodyCollector(60_000_000, announcedBytes);
      const pieces = [piece(), piece(), piece()];
      for (const each of pieces) expect(collector.add(each, owner)).toBeNull();
      expect(pieces[2].length).toBe(isFreed ? 0 : PIECE.length);
      expect(collector.finish().equals(Buffer.concat([PIECE, PIECE, PIECE]))).toBe(true);
    }
  });

  it('frees each piece that it has copied, and no buffer that others may use', () => {
    const owner = { hold: () => null };
    const collector = new BodyCollector(60_000_000, -1);
    const pieces = Array.from({ length: 10 }, piece);
    const shared = Buffer.concat([PIECE, PIECE]).subarray(0, PIECE.length);
    for (const each of [...pieces, shared]) expect(collector.add(each, owner)).toBeNull();
    expect(pieces.map(({ length }) => length)).toEqual(pieces.map(() => 0));
    expect(shared.equals(PIECE)).toBe(true);
    expect(collector.finish().equals(Buffer.concat(Array.from({ length: 11 }, () => PIECE)))).toBe(true);
  });

  it('passes on why memory is refused, and takes nothing', () => {
    const collector = new BodyCollector(60_000_000, 60_000_000);
    collect(collector, 40);
    const refusal = new Refusal('overBudget', 'too much');
    const owner = { hold: (bytes: number) => (bytes > 20_000_000 ? refusal : null) };
    let answer: Refusal | null = null;
    for (let i = 0; i < 500 && answer === null; i++) answer = collector.add(piece(), owner);
    expect(answer).toBe(refusal);
    expect(collector.bytes).toBeLessThanOrEqual(20_000_000);
  });
});
