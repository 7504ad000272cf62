import { describe, expect, it, vi } from 'vitest';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import { FleetWorker, type Registration } from '../../../../src/live/controller/fleet-worker.js';
import { Registrations } from '../../../../src/live/controller/registration/registrations.js';
import { useFakeTime } from '../../../fake-time.js';
import { description, FakeWorker } from '../fake-worker.js';

const MS = 1_000_000;

useFakeTime();

/** A fleet whose workers become what the test wants. */
class FakeFleet {
  readonly members: FleetWorker[] = [];
  /** By member: why it was asked to leave. */
  readonly dismissed = new Map<FleetWorker, string | null>();
  /** The worker that is known from the start. */
  readonly listed = new FleetWorker(() => new FakeWorker('listed:1'), REAL_TIME);

  mayDial = true;

  staticWorker(name: string, instance: string): FleetWorker | null {
    return name === 'listed:1' || instance === 'listed' ? this.listed : null;
  }

  add(registration: Registration, newLink: ConstructorParameters<typeof FleetWorker>[0]): FleetWorker {
    const member = new FleetWorker(newLink, REAL_TIME, registration);
    this.members.push(member);
    return member;
  }

  leave(worker: FleetWorker, reason: string | null): void {
    this.dismissed.set(worker, reason);
    if (reason !== null || worker.drivenBy === 'none') worker.phase = 'gone';
  }

  join(member: FleetWorker): void {
    Object.assign(member, {
      gpuNumbers: [0],
      description: description(),
      drivenBy: 'this',
      phase: 'serving',
    });
  }
}

function start() {
  const host = new FakeFleet();
  const said: string[] = [];
  let nowMs = 0;
  const complaints = new Map<string, (what: string) => void>();
  const registrations = new Registrations({
    clock: { nowNs: () => nowMs * MS, time: REAL_TIME },
    newLink: ({ address }, complain) => {
      complaints.set(address, complain);
      return new FakeWorker(address);
    },
    events: {
      joined: (name) => said.push(`${name} joined`),
      left: (name, why) => said.push(`${name} left: ${why}`),
      refused: (name, why) => said.push(`${name} refused: ${why}`),
      turnedAway: (from, why) => said.push(`${from} turned away: ${why}`),
    },
  });
  expect(registrations.renew(worker())).toEqual({ leaseMs: 5000, joined: false, problem: '' });
  registrations.begin(host);
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      nowMs += 100;
      vi.advanceTimersByTime(100);
    }
  };
  /** Lets time pass in which the worker renews its lease. */
  const live = (ms: number, registration: Registration) => {
    let last = registrations.renew(registration);
    for (let passed = 0; passed < ms; passed += 1000) {
      pass(1000);
      last = registrations.renew(registration);
    }
    return last;
  };
  return { host, said, registrations, pass, live, complaints };
}

function worker(address = 'a:1', instance = 'one', host = address.split(':')[0]): Registration {
  return { address, instance, host };
}

describe('a worker that registers', () => {
  it('is dialed at once, joins when it fits, and stays as long as it renews its lease', () => {
    const { host, said, registrations, live, pass } = start();
    expect(registrations.renew(worker())).toEqual({ leaseMs: 5000, joined: false, problem: '' });
    expect(host.members).toHaveLength(1);
    host.join(host.members[0]);
    expect(live(20_000, worker())).toEqual({ leaseMs: 5000, joined: true, problem: '' });
    // Its link is lost, and the lease goes on.
    Object.assign(host.members[0], { drivenBy: 'none', phase: 'connecting' });
    live(20_000, worker());
    expect([host.members.length, host.dismissed.size, said]).toEqual([1, 0, ['a:1 joined']]);
    pass(5100);
    expect(said).toEqual(['a:1 joined', 'a:1 left: its lease has ended']);
    const { joined, left, lost } = registrations;
    expect([joined, left, lost, host.members[0].hasLeft]).toEqual([1, 1, 1, true]);
  });

  it('that says it leaves goes when it is down, or when that takes too long', () => {
    const { host, said, registrations, pass } = start();
    for (const each of [worker('a:1'), worker('b:1', 'two')]) registrations.renew(each);
    for (const member of host.members) host.join(member);
    pass(100);
    for (const each of [worker('a:1', 'another'), worker('a:1'), worker('b:1', 'two')])
      registrations.leave(each);
    expect([...host.dismissed.values()]).toEqual([null, null]);
    host.members[0].phase = 'gone';
    pass(100);
    expect(said.slice(2)).toEqual(['a:1 left: it shuts down']);
    pass(29_000);
    expect(host.members[1].hasLeft).toBe(false);
    pass(2000);
    expect(said.slice(3)).toEqual(['b:1 left: it shuts down']);
    expect([registrations.left, registrations.lost]).toEqual([2, 0]);
  });

  it('whose address is silent learns why, and that is said once', () => {
    const { host, said, registrations, live, complaints } = start();
    registrations.renew(worker());
    complaints.get('a:1')?.('cannot be reached: ECONNREFUSED');
    const what = 'no worker answers at a:1: cannot be reached: ECONNREFUSED';
    expect(live(60_000, worker()).problem).toBe(what);
    expect([said, host.members.length]).toEqual([[`a:1 refused: ${what}`], 1]);
    // One that has joined may be out of reach for a while.
    host.join(host.members[0]);
    live(1000, worker());
    Object.assign(host.members[0], { drivenBy: 'none', phase: 'connecting' });
    complaints.get('a:1')?.('cannot be reached: EHOSTUNREACH');
    expect(live(1000, worker()).problem).toBe('cannot be reached: EHOSTUNREACH');
    expect(said.slice(1)).toEqual(['a:1 joined']);
  });

  it('that does not fit, or has no room, learns why, and that is said once', () => {
    const { host, said, registrations, live, pass } = start();
    registrations.renew(worker());
    Object.assign(host.members[0], { problem: 'it has other pages', phase: 'waiting' });
    expect(live(60_000, worker()).problem).toBe('it has other pages');
    expect([host.members.length, said]).toEqual([1, ['a:1 refused: it has other pages']]);
    registrations.renew(worker('a:1', 'two'));
    pass(100);
    expect(host.members).toHaveLength(2);
  });

  it('is not driven out by another one that claims its address while it is connected', () => {
    const { host, said, registrations, pass } = start();
    registrations.renew(worker());
    host.join(host.members[0]);
    pass(100);
    expect(registrations.renew(worker('a:1', 'two')).problem).toBe(
      'another worker is connected at this address',
    );
    const what =
      'it claims to serve at a:1, where another worker is connected: give each worker its own --advertise';
    expect([said, registrations.turnedAway.address]).toEqual([['a:1 joined', `a turned away: ${what}`], 1]);
    Object.assign(host.members[0], { drivenBy: 'none', phase: 'connecting' });
    registrations.renew(worker('a:1', 'two'));
    expect(said[2]).toBe('a:1 left: another process has its address');
    expect(registrations.lost).toBe(1);
    pass(200);
    expect(host.members).toHaveLength(2);
  });

  it('that the controller is given anyway needs no lease', () => {
    const { host, registrations } = start();
    expect(registrations.renew(worker('listed:1'))).toEqual({ leaseMs: 5000, joined: false, problem: '' });
    host.join(host.listed);
    expect(registrations.renew(worker('listed:1')).joined).toBe(true);
    expect(registrations.renew(worker('alias:1', 'listed')).joined).toBe(true);
    Object.assign(host.listed, { phase: 'joining', drivenBy: 'this', problem: 'its page sizes differ' });
    expect(registrations.renew(worker('listed:1')).problem).toBe('its page sizes differ');
    expect(host.members).toEqual([]);
  });

  it('has not joined before its GPUs are up', () => {
    const { host, said, registrations, live, pass } = start();
    registrations.renew(worker());
    host.join(host.members[0]);
    Object.assign(host.members[0], { phase: 'joining', problem: 'model one: there is none' });
    expect(live(5000, worker())).toEqual({
      leaseMs: 5000,
      joined: false,
      problem: 'model one: there is none',
    });
    expect([said, registrations.joined]).toEqual([[], 0]);
    Object.assign(host.members[0], { phase: 'serving', problem: '' });
    expect(live(1000, worker()).joined).toBe(true);
    expect([said, registrations.joined]).toEqual([['a:1 joined'], 1]);
    // One that another controller drives has joined, too: it is not for a standby to use it.
    registrations.renew(worker('b:1', 'two'));
    host.join(host.members[1]);
    Object.assign(host.members[1], { phase: 'joining', drivenBy: 'another' });
    pass(100);
    expect(said[1]).toBe('b:1 joined');
  });
});

it('a worker waits while too many others are dialed', () => {
  const { host, registrations } = start();
  host.mayDial = false;
  expect(registrations.renew(worker())).toEqual({
    ...{ leaseMs: 5000, joined: false, problem: 'others are dialed first' },
  });
  host.mayDial = true;
  expect(registrations.renew(worker()).problem).toBe('');
  expect(host.members).toHaveLength(1);
});

it('one host leaves room for the workers of others', () => {
  const { host, registrations } = start();
  const answers = Array.from({ length: 1000 }, (_, i) =>
    registrations.renew(worker(`a:${i + 1}`, `i${i}`, 'a')),
  );
  expect(host.members).toHaveLength(64);
  expect(answers.at(-1)?.problem).toBe('64 others have registered from a, and none of them has joined');
  expect(registrations.renew(worker('b:1', 'another')).problem).toBe('');
});
