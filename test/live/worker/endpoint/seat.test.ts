import { describe, expect, it } from 'vitest';
import type { SeatState } from '../../../../src/live/wire/protocol.js';
import { type Candidate, Seat } from '../../../../src/live/worker/endpoint/machine-endpoint.js';

/** A controller's stream that writes down what it hears. */
class Listener implements Candidate {
  readonly heard: string[] = [];

  constructor(
    readonly controller: string,
    private readonly seat: Seat,
  ) {
    seat.enter(this);
  }

  deposed(): void {
    this.heard.push('deposed');
    // As a stream does that ends.
    this.seat.leave(this);
  }

  seatChanged({ term, controller }: SeatState): void {
    this.heard.push(`${controller || 'none'} ${term}`);
  }
}

function seatWith(...names: string[]): { seat: Seat; listeners: Listener[] } {
  const seat = new Seat();
  return { seat, listeners: names.map((name) => new Listener(name, seat)) };
}

describe('a seat', () => {
  it('goes to who asks first, whatever the term', () => {
    const { seat, listeners } = seatWith('a', 'b');
    const [a, b] = listeners;
    expect(seat.take(a, 7)).toBe(true);
    expect(seat.take(b, 3)).toBe(false);
    seat.leave(a);
    expect(seat.take(b, 3)).toBe(true);
    expect(seat.state).toEqual({ term: 3, controller: 'b' });
  });

  it('tells all candidates who has it, and when it is free', () => {
    const { seat, listeners } = seatWith('a', 'b');
    const [a, b] = listeners;
    seat.take(a, 1);
    seat.leave(a);
    expect(a.heard).toEqual(['a 1']);
    expect(b.heard).toEqual(['a 1', 'none 1']);
  });

  it.each([
    ['a higher term', 'a', 2, true],
    ['the same term and a later name', 'c', 1, true],
    ['the same term and an earlier name', 'a', 1, false],
    ['a lower term and a later name', 'c', 0, false],
  ])('of a driver is for %s: %s in term %i, %s', (_, name, term, isTaken) => {
    const { seat, listeners } = seatWith('b', name);
    const [driver, other] = listeners;
    seat.take(driver, 1);
    expect(seat.take(other, term)).toBe(isTaken);
    expect(driver.heard.includes('deposed')).toBe(isTaken);
    expect(seat.isDriver(other)).toBe(isTaken);
    expect(seat.isDriver(driver)).toBe(!isTaken);
  });

  it('goes to another stream of its driver, in any term', () => {
    const { seat, listeners } = seatWith('a', 'a');
    const [broken, next] = listeners;
    seat.take(broken, 2);
    expect(seat.take(next, 1)).toBe(true);
    expect(broken.heard).toContain('deposed');
  });

  it('is not given up by a candidate that leaves', () => {
    const { seat, listeners } = seatWith('a', 'b');
    const [a, b] = listeners;
    seat.take(a, 1);
    seat.leave(b);
    expect(seat.isDriver(a)).toBe(true);
  });
});
