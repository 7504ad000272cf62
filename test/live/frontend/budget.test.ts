import { describe, expect, it } from 'vitest';
import { KIB, MIB } from '../../../src/base/units.js';
import {
  Budget,
  budgetLimits,
  clearBudgetSlot,
  newBudgetCounters,
} from '../../../src/live/frontend/budget.js';

const LIMITS = { totalBytes: 16 * MIB, clientBytes: 8 * MIB, connectionBytes: 4 * MIB };

describe('a budget', () => {
  it('is limited per connection, per address and in all', () => {
    const budget = new Budget(LIMITS);
    const accounts = ['1.1.1.1', '1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4', '5.5.5.5'].map((address) =>
      budget.open(address),
    );
    expect(accounts[0].take(4 * MIB)).toBe(null);
    expect(accounts[0].take(1)?.message).toMatch(/^this connection holds /);
    expect(accounts[1].take(3 * MIB)).toBe(null);
    expect(accounts[1].take(MIB)?.message).toMatch(/^requests from this address hold /);
    expect(accounts[2].take(4 * MIB)).toBe(null);
    expect(accounts[3].take(3 * MIB)).toBe(null);
    expect(accounts[4].take(MIB)?.message).toMatch(/^requests under way hold /);
    expect(budget.usedKib()).toBe(14 * KIB);
  });

  it('keeps a part for small requests, whatever large ones hold', () => {
    const budget = new Budget({ ...LIMITS, clientBytes: LIMITS.totalBytes });
    const large = Array.from({ length: 14 }, () => budget.open('1.1.1.1'));
    for (const account of large) expect(account.take(MIB)).toBe(null);
    expect(large[0].take(MIB)).not.toBe(null);
    const small = Array.from({ length: 32 }, () => budget.open('1.1.1.1'));
    for (const account of small) expect(account.take(64 * KIB)).toBe(null);
    expect(budget.open('1.1.1.1').take(64 * KIB)).not.toBe(null);
    expect(budget.open('2.2.2.2').take(1)).not.toBe(null);
  });

  it('gets back what was taken', () => {
    const budget = new Budget(LIMITS);
    const account = budget.open('1.1.1.1');
    account.take(100);
    account.take(5000);
    account.giveBack(100);
    expect(budget.usedKib()).toBe(5);
    account.giveBack(5000);
    expect(budget.usedKib()).toBe(0);
  });

  it('counts what is held for a connection that is gone', () => {
    const budget = new Budget(LIMITS);
    const account = budget.open('1.1.1.1');
    account.take(4 * MIB);
    account.close();
    account.close();
    const next = budget.open('1.1.1.1');
    expect(next.take(4 * MIB)?.message).toMatch(/^requests from this address hold /);
    account.giveBack(4 * MIB);
    expect(next.take(4 * MIB)).toBe(null);
  });

  it('takes nothing where it refuses', () => {
    const budget = new Budget(LIMITS);
    const account = budget.open('1.1.1.1');
    expect(account.take(5 * MIB)).not.toBe(null);
    expect(budget.usedKib()).toBe(0);
    expect(account.take(4 * MIB)).toBe(null);
  });

  it('is one for all threads, and survives one of them', () => {
    const counters = newBudgetCounters(2);
    const [first, second] = [0, 1].map((slot) => new Budget(LIMITS, { counters, slot }));
    for (const address of ['1', '2', '3']) first.open(address).take(4 * MIB);
    expect(second.open('4').take(4 * MIB)).not.toBe(null);
    clearBudgetSlot({ counters, slot: 0 });
    expect(second.open('4').take(4 * MIB)).toBe(null);
  });

  it('takes an IPv4 address and a /64 of IPv6 addresses for one client', () => {
    const budget = new Budget(LIMITS);
    const keyOf = (address: string) => budget.open(address).clientKey;
    expect(keyOf('::ffff:1.2.3.4')).toBe(keyOf('1.2.3.4'));
    expect(keyOf('2001:db8:1:2::7')).toBe(keyOf('2001:db8:1:2:3:4:5:6'));
    expect(keyOf('2001:db8::7')).toBe(keyOf('2001:db8:0:0:1::8'));
    expect(keyOf('2001:db8:1:3::7')).not.toBe(keyOf('2001:db8:1:2::7'));
  });

  it('lets one connection hold the largest body and its answer', () => {
    expect(budgetLimits(64 * MIB, 64 * MIB).connectionBytes).toBe(128 * MIB);
  });
});
