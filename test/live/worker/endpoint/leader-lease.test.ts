import { describe, expect, it } from 'vitest';
import type { LeaseState } from '../../../../src/live/wire/protocol.js';
import { type Driver, MachineEndpoint } from '../../../../src/live/worker/endpoint/machine-endpoint.js';
import { FakeMachine } from '../../controller/link/fake-machine.js';

/** A controller's stream that writes down what it hears. */
class Listener implements Driver {
  readonly heard: string[] = [];

  constructor(
    readonly controller: string,
    private readonly lease: MachineEndpoint,
  ) {
    lease.enter(this);
  }

  deposed(): void {
    this.heard.push('deposed');
    // As a stream does that ends.
    this.lease.leave(this);
  }

  results(): void {}

  gpuDown(): void {}

  leaseChanged({ term, controller }: LeaseState): void {
    this.heard.push(`${controller || 'none'} ${term}`);
  }
}

function leaseWith(...names: string[]): { lease: MachineEndpoint; listeners: Listener[] } {
  const lease = new MachineEndpoint(new FakeMachine());
  return { lease, listeners: names.map((name) => new Listener(name, lease)) };
}

describe('a lease', () => {
  it('goes to who asks first, whatever the term', () => {
    const { lease, listeners } = leaseWith('a', 'b');
    const [a, b] = listeners;
    expect(lease.take(a, 7)).toBe(true);
    expect(lease.take(b, 3)).toBe(false);
    lease.leave(a);
    expect(lease.take(b, 3)).toBe(true);
    expect(lease.lease).toEqual({ term: 3, controller: 'b' });
  });

  it('tells all candidates who has it, and when it is free', () => {
    const { lease, listeners } = leaseWith('a', 'b');
    const [a, b] = listeners;
    lease.take(a, 1);
    lease.leave(a);
    expect(a.heard).toEqual(['a 1']);
    expect(b.heard).toEqual(['a 1', 'none 1']);
  });

  it.each([
    ['a higher term', 'a', 2, true],
    ['the same term and a later name', 'c', 1, true],
    ['the same term and an earlier name', 'a', 1, false],
    ['a lower term and a later name', 'c', 0, false],
  ])('of a driver is for %s: %s in term %i, %s', (_, name, term, isTaken) => {
    const { lease, listeners } = leaseWith('b', name);
    const [driver, other] = listeners;
    lease.take(driver, 1);
    expect(lease.take(other, term)).toBe(isTaken);
    expect(driver.heard.includes('deposed')).toBe(isTaken);
    expect(lease.isDriver(other)).toBe(isTaken);
    expect(lease.isDriver(driver)).toBe(!isTaken);
  });

  it('that its driver yields goes to who asks next, in any term, and is that one alone again', () => {
    const { lease, listeners } = leaseWith('b', 'a', 'c');
    const [driver, heir, late] = listeners;
    lease.take(driver, 2);
    lease.yield(heir);
    expect(lease.take(heir, 1)).toBe(false);
    lease.yield(driver);
    expect(lease.lease).toEqual({ term: 2, controller: 'b', yields: true });
    expect(lease.isDriver(driver)).toBe(true);
    expect(driver.heard).not.toContain('deposed');
    expect(lease.take(heir, 3)).toBe(true);
    expect(driver.heard).toContain('deposed');
    expect(lease.take(late, 2)).toBe(false);
    expect(lease.lease).toEqual({ term: 3, controller: 'a' });
  });

  it('goes to another stream of its driver, in any term', () => {
    const { lease, listeners } = leaseWith('a', 'a');
    const [broken, next] = listeners;
    lease.take(broken, 2);
    expect(lease.take(next, 1)).toBe(true);
    expect(broken.heard).toContain('deposed');
  });

  it('is not given up by a candidate that leaves', () => {
    const { lease, listeners } = leaseWith('a', 'b');
    const [a, b] = listeners;
    lease.take(a, 1);
    lease.leave(b);
    expect(lease.isDriver(a)).toBe(true);
  });
});
