import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CallTurns } from '../../../../src/live/frontend/grpc/call-turns.js';

/** A connection that always has calls to read. */
class BusyConnection {
  isFull = false;
  hasServed = false;
  expectedCalls = 16;
  turnCalls = 0;
  isRead = false;
  reads = 0;

  constructor(
    readonly clientKey: string,
    private readonly turns: CallTurns,
    /** Those that come at a time. */
    private readonly calls: number,
  ) {
    turns.open(this);
  }

  stop(): void {
    this.isRead = false;
  }

  proceed(): number {
    if (this.turns.holds(this)) return 0;
    this.isRead = true;
    this.turns.release(this);
    return Math.min(16, this.expectedCalls);
  }

  /** The event loop reads it if it may. Returns how many calls came. */
  read(): number {
    if (!this.isRead) return 0;
    this.reads++;
    this.expectedCalls = this.calls;
    for (this.turnCalls = 1; this.turnCalls <= this.calls; this.turnCalls++) this.turns.came(this);
    return this.calls;
  }
}

/** As many connections as that of one client, with so many calls each. */
function open(turns: CallTurns, count: number, calls: number, client = 'many'): BusyConnection[] {
  return Array.from({ length: count }, () => new BusyConnection(client, turns, calls));
}

function read(connections: readonly BusyConnection[]): number {
  return connections.reduce((sum, connection) => sum + connection.read(), 0);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('connections of one client', () => {
  it.each([
    [200, 1],
    [200, 5],
    [40, 100],
  ])('%i with %i calls at a time bring few in a turn, and each is read', async (count, calls) => {
    const turns = new CallTurns();
    const [other] = open(turns, 1, 1, 'other');
    const many = open(turns, count, calls);
    while (many.some(({ reads }) => reads === 0)) {
      await nextTurn();
      read([other, ...many]);
    }
    const before = many.map(({ reads }) => reads);
    const perTurn: number[] = [];
    for (let turn = 0; turn < 1000; turn++) {
      await nextTurn();
      other.read();
      perTurn.push(read(many));
    }
    // Of light and of heavy ones, and what was read before the share was used up.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(3 * 4 + 2 * calls);
    expect(Math.min(...perTurn)).toBeGreaterThan(0);
    const reads = many.map((each, i) => each.reads - before[i]);
    expect(Math.max(...reads)).toBeLessThan(2 * Math.min(...reads));
  });

  it('that all wait for something to read bring few in the turn in which it comes', async () => {
    const turns = new CallTurns();
    const [other] = open(turns, 1, 1, 'other');
    const many = open(turns, 200, 5);
    while (many.some(({ isRead }) => !isRead)) await nextTurn();
    await nextTurn();
    other.read();
    expect(read(many)).toBeLessThan(4 + 2 * 5);
  });

  it('that is alone wait only if they bring many themselves', async () => {
    const turns = new CallTurns();
    const few = open(turns, 200, 5);
    const [many] = open(turns, 1, 17);
    while (!many.isRead) await nextTurn();
    await nextTurn();
    expect(read(few)).toBe(200 * 5);
    expect(few.every(({ isRead }) => isRead)).toBe(true);
    many.read();
    expect(many.isRead).toBe(false);
  });

  it('let one with few calls in between', async () => {
    const turns = new CallTurns();
    const many = open(turns, 200, 100);
    const [few] = open(turns, 1, 1);
    while (few.reads === 0) {
      await nextTurn();
      read([...many, few]);
    }
    for (let turn = 1; turn <= 100; turn++) {
      await nextTurn();
      read([...many, few]);
      expect(few.reads).toBeGreaterThan(turn / 3);
    }
  });

  it('do not hold those of another client', async () => {
    const turns = new CallTurns();
    const many = open(turns, 200, 5);
    const [other] = open(turns, 1, 4, 'other');
    for (let turn = 0; turn < 100; turn++) {
      await nextTurn();
      read([...many, other]);
    }
    expect(other.reads).toBeGreaterThan(95);
  });

  it('that are closed are forgotten', async () => {
    const turns = new CallTurns();
    const [closed, open_] = open(turns, 2, 17);
    await nextTurn();
    await nextTurn();
    await nextTurn();
    expect(turns.close(closed)).toBe(true);
    const stop = vi.spyOn(closed, 'stop');
    open_.read();
    expect([stop.mock.calls.length, open_.isRead]).toEqual([0, false]);
  });
});

it('a client that is full is read now and then, and as others are once it is not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = new CallTurns();
  const many = open(turns, 100, 4);
  await nextTurn();
  for (const each of many) each.isFull = true;
  let calls = 0;
  for (let turn = 0; turn < 200; turn++) {
    await nextTurn();
    calls += read(many);
  }
  // What had been let in before, and no more without a pause.
  expect(calls).toBeLessThanOrEqual(4 * many.length);
  for (let pause = 0; pause < 10; pause++) {
    vi.advanceTimersByTime(10);
    const came = read(many);
    expect(came).toBeGreaterThan(0);
    expect(came).toBeLessThanOrEqual(2 * 16);
    await nextTurn();
  }
  for (const each of many) each.isFull = false;
  const before = many.map(({ reads }) => reads);
  vi.advanceTimersByTime(10);
  for (let turn = 0; turn < 100; turn++) {
    await nextTurn();
    read(many);
  }
  expect(many.every(({ reads }, i) => reads > before[i])).toBe(true);
});

it('after a flood, connections of its client that have brought no inference are not read for 100 ms', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = new CallTurns();
  const early = open(turns, 3, 1);
  const [proven] = early;
  const [other] = open(turns, 1, 1, 'other');
  for (let turn = 0; turn < 20; turn++) {
    await nextTurn();
    read([...early, other]);
  }
  proven.hasServed = true;
  turns.flooded('many');
  const held = [early[1], early[2], ...open(turns, 2, 1)];
  const before = [proven.reads, other.reads];
  const reads = () => held.map((connection) => connection.reads);
  const heldBefore = reads();
  const go = async () => {
    for (let turn = 0; turn < 20; turn++) {
      await nextTurn();
      read([proven, other, ...held]);
    }
  };
  vi.advanceTimersByTime(99);
  await go();
  expect(reads()).toEqual(heldBefore);
  expect(proven.reads).toBeGreaterThan(before[0]);
  expect(other.reads).toBeGreaterThan(before[1]);
  vi.advanceTimersByTime(1);
  await go();
  expect(reads().every((count, i) => count > heldBefore[i])).toBe(true);
});
