import { describe, expect, it } from 'vitest';
import { KIB, MIB } from '../../../src/base/units.js';
import { Budget, clearBudgetSlot, newBudgetCounters } from '../../../src/live/frontend/limits.js';

const LIMITS = {
  maxInflightBytes: 16 * MIB,
  maxBodyBytes: 2 * MIB,
  maxConnections: 6,
  maxClientRequests: 10,
};

/** One for a single thread, and the KiB that it counts. */
function singleBudget() {
  const counters = newBudgetCounters(1);
  const usedKib = () => new Int32Array(counters)[0];
  return { budget: new Budget(LIMITS, { counters, slot: 0 }), usedKib };
}

/** The words of the error; '': it was let through. */
function refused(act: () => void): string {
  try {
    act();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Takes memory for one more request of a connection. */
const hold = (account: ReturnType<Budget['open']>, bytes: number) => refused(() => account.hold().set(bytes));

describe('a budget', () => {
  it('is limited per connection, per address and in all', () => {
    const { budget, usedKib } = singleBudget();
    const accounts = ['1.1.1.1', '1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4', '5.5.5.5'].map((address) =>
      budget.open(address),
    );
    expect(hold(accounts[0], 4 * MIB)).toBe('');
    expect(hold(accounts[0], 1)).toMatch(/^this connection holds /);
    expect(hold(accounts[1], 3 * MIB)).toBe('');
    expect(hold(accounts[1], MIB)).toMatch(/^requests from this address hold /);
    expect(hold(accounts[2], 4 * MIB)).toBe('');
    expect(hold(accounts[3], 3 * MIB)).toBe('');
    expect(hold(accounts[4], MIB)).toMatch(/^requests under way hold /);
    expect(usedKib()).toBe(14 * KIB);
  });

  it('keeps a part for small requests, whatever large ones hold', () => {
    const budget = new Budget(LIMITS);
    const large = Array.from({ length: 14 }, (_, i) => budget.open(`1.1.1.${i % 2}`));
    for (const account of large) expect(hold(account, MIB)).toBe('');
    expect(hold(large[0], MIB)).not.toBe('');
    const small = Array.from({ length: 32 }, (_, i) => budget.open(`1.1.1.${i % 2}`));
    for (const account of small) expect(hold(account, 64 * KIB)).toBe('');
    expect(hold(budget.open('1.1.1.1'), 64 * KIB)).not.toBe('');
    expect(hold(budget.open('2.2.2.2'), 1)).not.toBe('');
  });

  it('gets back what was taken, in whole KiB, also for a connection that is gone', () => {
    const { budget, usedKib } = singleBudget();
    const held = budget.open('1.1.1.1').hold();
    held.set(100);
    expect(usedKib()).toBe(1);
    held.set(4 * MIB);
    const next = budget.open('1.1.1.1');
    expect(hold(next, 4 * MIB)).toMatch(/^requests from this address hold /);
    expect(usedKib()).toBe(4 * KIB);
    held.set(5000);
    expect(usedKib()).toBe(5);
    held.set(0);
    expect(usedKib()).toBe(0);
    expect(hold(next, 4 * MIB)).toBe('');
  });

  it('is one for all threads, and survives one of them', () => {
    const counters = newBudgetCounters(2);
    const [first, second] = [0, 1].map((slot) => new Budget(LIMITS, { counters, slot }));
    for (const address of ['1', '2', '3']) hold(first.open(address), 4 * MIB);
    expect(hold(second.open('4'), 4 * MIB)).not.toBe('');
    clearBudgetSlot({ counters, slot: 0 });
    expect(hold(second.open('4'), 4 * MIB)).toBe('');
  });

  it('counts an address in all threads', () => {
    const counters = newBudgetCounters(2);
    const [first, second] = [0, 1].map((slot) => new Budget(LIMITS, { counters, slot }));
    expect(hold(first.open('1.1.1.1'), 4 * MIB)).toBe('');
    expect(hold(second.open('1.1.1.1'), 3 * MIB)).toBe('');
    expect(hold(first.open('1.1.1.1'), MIB)).toMatch(/^requests from this address hold /);
    expect(hold(second.open('2.2.2.2'), KIB)).toBe('');
    first.open('1.1.1.1').ask(10);
    expect(refused(() => second.open('1.1.1.1').ask(1))).not.toBe('');
    clearBudgetSlot({ counters, slot: 0 });
    second.open('1.1.1.1').ask(10);
    expect(hold(second.open('1.1.1.1'), 3 * MIB)).toBe('');
  });

  it('limits the requests of an address that are under way', () => {
    const budget = new Budget(LIMITS);
    const [one, other, third] = ['1.1.1.1', '1.1.1.1', '2.2.2.2'].map((address) => budget.open(address));
    one.ask(4);
    other.ask(6);
    expect(() => one.ask(1)).toThrow(
      expect.objectContaining({
        kind: 'overBudget',
        message: expect.stringMatching(/^requests from this address under way are at most 10: /),
      }),
    );
    third.ask(10);
    other.answered(6);
    expect(refused(() => one.ask(7))).not.toBe('');
    one.ask(6);
    expect(refused(() => other.ask(1))).not.toBe('');
  });

  it('limits no requests where that is off', () => {
    const account = new Budget({ ...LIMITS, maxClientRequests: null }).open('1.1.1.1');
    expect(refused(() => account.ask(1_000_000))).toBe('');
  });

  it('limits connections, of an address and of all', () => {
    const budget = new Budget(LIMITS);
    const enter = (address: string) => budget.open(address).enter();
    const first = budget.open('1.1.1.1');
    expect([first.enter(), enter('1.1.1.1'), enter('1.1.1.1'), enter('1.1.1.1')]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(['2.2.2.2', '2.2.2.2', '3.3.3.3', '4.4.4.4'].map(enter)).toEqual([true, true, true, false]);
    first.leave();
    expect(enter('4.4.4.4')).toBe(true);
  });

  it('takes an IPv4 address and a /64 of IPv6 addresses for one client', () => {
    const budget = new Budget(LIMITS);
    const clientOf = (address: string) => budget.open(address).client;
    expect(clientOf('::ffff:1.2.3.4')).toBe(clientOf('1.2.3.4'));
    expect(clientOf('2001:db8:1:2::7')).toBe(clientOf('2001:db8:1:2:3:4:5:6'));
    expect(clientOf('2001:db8::7')).toBe(clientOf('2001:db8:0:0:1::8'));
    expect(clientOf('2001:db8:1:3::7')).not.toBe(clientOf('2001:db8:1:2::7'));
  });

  it('lets one connection hold the largest body and its answer', () => {
    const account = new Budget({ ...LIMITS, maxBodyBytes: 3 * MIB }).open('1.1.1.1');
    expect(hold(account, 6 * MIB)).toBe('');
    expect(hold(account, 1)).toMatch(/^this connection holds /);
  });
});
