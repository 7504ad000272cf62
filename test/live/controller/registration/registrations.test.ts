import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import { FleetWorker } from '../../../../src/live/controller/fleet-worker.js';
import type { WorkerLink } from '../../../../src/live/controller/link/worker-link.js';
import type { Registration } from '../../../../src/live/controller/registration/registrations.js';
import { type Host, Registrations } from '../../../../src/live/controller/registration/registrations.js';
import { description, FakeWorker } from '../fake-worker.js';

const MS = 1_000_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A fleet that takes on whom the test lets join. */
class FakeHost implements Host {
  room = 1_000_000;
  readonly members: FleetWorker[] = [];
  /** By member: why it was asked to leave. */
  readonly dismissed = new Map<FleetWorker, string | null>();

  /** How it stands with the worker that is known from the start. */
  listed = { hasJoined: false, problem: '' };

  staticWorker(name: string, instance: string) {
    return name === 'listed:1' || instance === 'listed' ? this.listed : null;
  }

  add(link: WorkerLink): FleetWorker {
    const member = new FleetWorker(link, (worker, reason) => {
      this.dismissed.set(worker, reason);
      if (reason !== null || worker.drivenBy === 'none') worker.phase = 'gone';
    });
    this.members.push(member);
    return member;
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
  const host = new FakeHost();
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

  it('stays without a lease while it is connected', () => {
    const { host, said, registrations, pass } = start();
    registrations.renew(worker());
    host.join(host.members[0]);
    pass(60_000);
    expect([said, host.dismissed.size]).toEqual([['a:1 joined'], 0]);
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

  it('whose address is silent is left alone for a while, and that is said once', () => {
    const { host, said, registrations, live, complaints } = start();
    registrations.renew(worker());
    complaints.get('a:1')?.('cannot be reached: ECONNREFUSED');
    const last = live(12_000, worker());
    const what = 'no worker answers at a:1: cannot be reached: ECONNREFUSED';
    expect(said[0]).toBe(`a:1 refused: ${what}`);
    expect([last.problem, host.members.length]).toEqual([what, 1]);
    live(4000, worker());
    complaints.get('a:1')?.('cannot be reached: ECONNREFUSED');
    live(4000, worker());
    expect([said.length, host.members.length]).toEqual([1, 2]);
  });

  it('is not given up while its link has not tried: a thread of links that hangs is not its fault', () => {
    const { host, said, live, complaints } = start();
    live(20_000, worker());
    expect([host.members.length, host.dismissed.size, said]).toEqual([1, 0, []]);
    complaints.get('a:1')?.('the worker has said nothing for 5000 ms');
    live(1000, worker());
    expect(said).toEqual(['a:1 refused: no worker answers at a:1: the worker has said nothing for 5000 ms']);
  });

  it('that does not go with the cluster is not dialed again, but another process there is', () => {
    const { host, said, registrations, live, pass } = start();
    registrations.renew(worker());
    Object.assign(host.members[0], { problem: 'it has other pages', phase: 'gone' });
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

  it('is not lost when it has said that it leaves and another process comes to its address', () => {
    const { host, said, registrations, pass } = start();
    registrations.renew(worker());
    host.join(host.members[0]);
    pass(100);
    registrations.leave(worker());
    Object.assign(host.members[0], { drivenBy: 'none', phase: 'connecting' });
    registrations.renew(worker('a:1', 'two'));
    expect(said).toEqual(['a:1 joined', 'a:1 left: another process has its address']);
    expect([registrations.left, registrations.lost]).toEqual([1, 0]);
  });

  it('that the controller is given anyway needs no lease', () => {
    const { host, registrations } = start();
    expect(registrations.renew(worker('listed:1'))).toEqual({ leaseMs: 5000, joined: false, problem: '' });
    host.listed = { hasJoined: true, problem: '' };
    expect(registrations.renew(worker('listed:1')).joined).toBe(true);
    expect(registrations.renew(worker('alias:1', 'listed')).joined).toBe(true);
    host.listed = { hasJoined: false, problem: 'its page sizes differ' };
    expect(registrations.renew(worker('listed:1')).problem).toBe('its page sizes differ');
    expect(host.members).toEqual([]);
  });

  it('waits while there is no room, which is said once', () => {
    const { host, said, registrations, live } = start();
    host.room = 0;
    registrations.renew(worker());
    const { problem } = live(200_000, worker());
    expect(problem).toBe(
      'waits for room: --max-gpus leaves room for no more GPUs; stop another worker, or start the controller with a larger --max-gpus',
    );
    expect([host.members, said]).toEqual([[], [`a:1 refused: ${problem}`]]);
    host.room = 1;
    live(1000, worker());
    expect(host.members).toHaveLength(1);
  });

  it('waits while there is room for some of its GPUs only, and is dialed again when there is room for all', () => {
    const { host, said, registrations, live } = start();
    host.room = 2;
    registrations.renew(worker());
    Object.assign(host.members[0], { problem: 'no room', gpusWithoutRoom: 3, phase: 'gone' });
    const { problem } = live(200_000, worker());
    expect(problem).toMatch(
      /^waits for room: it has 3 GPUs, and --max-gpus leaves room for 2 GPUs only; stop/,
    );
    expect([host.members.length, said]).toEqual([1, [`a:1 refused: ${problem}`]]);
    host.room = 3;
    live(1000, worker());
    host.join(host.members[1]);
    expect(live(1000, worker())).toEqual({ leaseMs: 5000, joined: true, problem: '' });
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

describe('workers that register', () => {
  it('and come and go are taken back after longer and longer pauses', () => {
    const { host, registrations, pass } = start();
    for (let i = 0; i < 50; i++) {
      registrations.renew(worker('a:1', `i${i}`));
      pass(200);
      const member = host.members.at(-1) as FleetWorker;
      if (!member.hasLeft) host.join(member);
      pass(100);
      registrations.leave(worker('a:1', `i${i}`));
      member.phase = 'gone';
      pass(100);
    }
    // 20 seconds have passed.
    expect(host.members.length).toBeGreaterThan(4);
    expect(host.members.length).toBeLessThan(10);
    const before = host.members.length;
    for (let second = 0; host.members.length === before; second++) {
      expect(second).toBeLessThan(12);
      registrations.renew(worker('a:1', 'stays'));
      pass(1000);
    }
  });

  it('are dialed a few at a time, and one host leaves room for others', () => {
    const { host, registrations } = start();
    const answers = Array.from({ length: 1000 }, (_, i) =>
      registrations.renew(worker(`a:${i + 1}`, `i${i}`, 'a')),
    );
    expect(host.members).toHaveLength(16);
    expect(answers.filter(({ problem }) => problem === '')).toHaveLength(64);
    expect(answers.at(-1)?.problem).toBe('64 others have registered from a, and none of them has joined');
    expect(registrations.renew(worker('b:1')).problem).toBe('');
  });

  it('of which many do not answer hold up the others for seconds only', () => {
    const { host, registrations, pass } = start();
    for (let i = 0; i < 64; i++) registrations.renew(worker(`a:${i + 1}`, `i${i}`, 'a'));
    registrations.renew(worker('b:1'));
    for (let second = 0; second < 22; second++) {
      registrations.renew(worker('b:1'));
      pass(1000);
    }
    expect(host.members.filter(({ link }) => link.name === 'b:1')).not.toEqual([]);
  });
});
