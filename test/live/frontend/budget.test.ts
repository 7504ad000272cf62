import { describe, expect, it } from 'vitest';
import { KIB, MIB } from '../../../src/base/units.js';
import { Budget, budgetLimits } from '../../../src/live/frontend/budget.js';
import { Call } from '../../../src/live/frontend/call.js';
import type { Inference } from '../../../src/live/frontend/inference.js';
import { clearBudgetSlot, newBudgetCounters } from '../../../src/live/frontend/shared-counts.js';

const LIMITS = {
  ...{ totalBytes: 16 * MIB, clientBytes: 8 * MIB, connectionBytes: 4 * MIB },
  ...{ connections: 6, clientConnections: 3, clientRequests: 10 },
};

/** A call of so many requests. */
const callOf = (count: number) =>
  new Call({ count } as Inference, { answered: () => {} }, { ask: () => null, answered: () => {} });

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

  it('counts an address in all threads', () => {
    const counters = newBudgetCounters(2);
    const [first, second] = [0, 1].map((slot) => new Budget(LIMITS, { counters, slot }));
    expect(first.open('1.1.1.1').take(4 * MIB)).toBe(null);
    expect(second.open('1.1.1.1').take(3 * MIB)).toBe(null);
    expect(first.open('1.1.1.1').take(MIB)?.message).toMatch(/^requests from this address hold /);
    expect(second.open('2.2.2.2').take(KIB)).toBe(null);
    expect(first.open('1.1.1.1').ask(callOf(10))).toBe(null);
    expect(second.open('1.1.1.1').ask(callOf(1))).not.toBe(null);
    clearBudgetSlot({ counters, slot: 0 });
    expect(second.open('1.1.1.1').ask(callOf(10))).toBe(null);
    expect(second.open('1.1.1.1').take(3 * MIB)).toBe(null);
  });

  it('limits the requests of an address that are under way', () => {
    const budget = new Budget(LIMITS);
    const [one, other, third] = ['1.1.1.1', '1.1.1.1', '2.2.2.2'].map((address) => budget.open(address));
    expect(one.ask(callOf(4))).toBe(null);
    const six = callOf(6);
    expect(other.ask(six)).toBe(null);
    expect(one.ask(callOf(1))).toMatchObject({
      kind: 'overBudget',
      message: expect.stringMatching(/^requests from this address under way are at most 10: /),
    });
    expect(third.ask(callOf(10))).toBe(null);
    other.answered(six);
    expect(one.ask(callOf(7))).not.toBe(null);
    expect(one.ask(callOf(6))).toBe(null);
  });

  it('limits no requests where that is off', () => {
    const options = { maxInflightBytes: MIB, maxBodyBytes: MIB, maxConnections: 1, maxClientRequests: null };
    const budget = new Budget(budgetLimits(options));
    expect(budget.open('1.1.1.1').ask(callOf(1_000_000))).toBe(null);
  });

  it('limits connections, of an address and of all', () => {
    const budget = new Budget(LIMITS);
    const enter = (address: string) => budget.open(address).enter();
    const first = budget.open('1.1.1.1');
    expect(first.enter()).toBe(null);
    expect([enter('1.1.1.1'), enter('1.1.1.1')]).toEqual([null, null]);
    expect(enter('1.1.1.1')?.message).toMatch(/ at most 3 connections from one address: /);
    expect([enter('2.2.2.2'), enter('2.2.2.2'), enter('3.3.3.3')]).toEqual([null, null, null]);
    expect(enter('4.4.4.4')).toMatchObject({
      kind: 'tooManyConnections',
      message: expect.stringMatching(/ at most 6 connections: /),
    });
    first.leave();
    expect([enter('4.4.4.4')]).toEqual([null]);
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
    const options = { maxInflightBytes: 64 * MIB, maxBodyBytes: 64 * MIB };
    const limits = budgetLimits({ ...options, maxConnections: 1, maxClientRequests: 1 });
    expect(limits.connectionBytes).toBe(128 * MIB);
  });
});
