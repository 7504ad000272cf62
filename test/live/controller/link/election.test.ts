import { describe, expect, it } from 'vitest';
import { Election } from '../../../../src/live/controller/link/election.js';
import { type LeaseState, MOST_TERM } from '../../../../src/live/wire/protocol.js';

const FREE = { term: 0, controller: '' };
const leaseOf = (controller: string, term: number): LeaseState => ({ controller, term });

function electionOf(links: number, isStandby = false): Election<number> {
  const election = new Election<number>({ controller: 'me', isStandby });
  for (let link = 0; link < links; link++) election.opened(link, 0);
  return election;
}

describe('a controller that drives nothing', () => {
  it('asks for all leases at once when all workers are there and free', () => {
    const election = electionOf(2);
    election.leaseIs(0, FREE, 5);
    expect(election.choose(5)).toEqual({ takes: [], term: 0, againMs: 300 });
    election.leaseIs(1, leaseOf('', 4), 6);
    expect(election.choose(6)).toEqual({ takes: [0, 1], term: 5, againMs: null });
    expect(election.choose(6).takes).toEqual([]);
  });

  it('does without a worker that it does not reach, once nothing else changes', () => {
    const election = electionOf(3);
    election.leaseIs(0, FREE, 0);
    election.leaseIs(1, FREE, 200);
    expect(election.choose(499).takes).toEqual([]);
    // Tries in vain are no news.
    election.leaseIs(2, null, 450);
    expect(election.choose(500).takes).toEqual([0, 1]);
  });

  it('asks for no lease while another drives one of the workers', () => {
    const election = electionOf(2);
    election.leaseIs(0, FREE, 0);
    election.leaseIs(1, leaseOf('other', 1), 0);
    expect(election.choose(10_000)).toEqual({ takes: [], term: 0, againMs: null });
    election.leaseIs(1, leaseOf('', 1), 10_000);
    expect(election.choose(10_000)).toEqual({ takes: [0, 1], term: 2, againMs: null });
  });

  it('leaves workers that have had no driver yet to others if it is a standby', () => {
    const election = electionOf(1, true);
    election.leaseIs(0, FREE, 100);
    expect(election.choose(100)).toEqual({ takes: [], term: 0, againMs: 3000 });
    expect(election.choose(3100).takes).toEqual([0]);
  });

  it('takes workers that have lost their driver at once, also if it is a standby', () => {
    const election = electionOf(1, true);
    election.leaseIs(0, leaseOf('other', 1), 0);
    election.leaseIs(0, leaseOf('', 1), 1);
    expect(election.choose(1).takes).toEqual([0]);
  });

  it('asks for leases that their driver yields only when it is to take over, and only that time', () => {
    const election = electionOf(2, true);
    const yielded = { ...leaseOf('other', 3), yields: true };
    election.leaseIs(0, yielded, 0);
    election.leaseIs(1, leaseOf('other', 3), 0);
    election.takesOver = true;
    expect(election.choose(0).takes).toEqual([]);
    election.takesOver = false;
    election.leaseIs(1, yielded, 0);
    expect(election.choose(0).takes).toEqual([]);
    election.takesOver = true;
    expect(election.choose(0)).toEqual({ takes: [0, 1], term: 4, againMs: null });
    for (const link of [0, 1]) election.leaseIs(link, leaseOf('me', 4), 1);
    for (const link of [0, 1]) election.leaseIs(link, { ...leaseOf('other', 5), yields: true }, 2);
    expect(election.choose(2).takes).toEqual([]);
  });

  it('asks for no term that no worker would understand', () => {
    const election = electionOf(1);
    election.leaseIs(0, leaseOf('', MOST_TERM), 0);
    expect(election.choose(0)).toMatchObject({ takes: [0], term: MOST_TERM });
  });

  it('takes back what a broken connection of its own still has', () => {
    const election = electionOf(1);
    election.leaseIs(0, leaseOf('me', 3), 0);
    expect(election.choose(0)).toEqual({ takes: [0], term: 4, againMs: null });
  });

  it('counts a lease that it gets after news from before it had asked', () => {
    const election = electionOf(2);
    election.leaseIs(0, leaseOf('', 1), 0);
    election.leaseIs(1, leaseOf('', 1), 0);
    expect(election.choose(0)).toEqual({ takes: [0, 1], term: 2, againMs: null });
    // Another was quicker, in the same term, and has to give way: `me` comes after `he`.
    election.leaseIs(0, leaseOf('he', 2), 1);
    election.leaseIs(1, leaseOf('he', 2), 1);
    expect(election.choose(1).takes).toEqual([]);
    election.leaseIs(0, leaseOf('me', 2), 2);
    election.leaseIs(1, null, 2);
    election.leaseIs(1, leaseOf('he', 2), 3);
    expect(election.choose(3)).toEqual({ takes: [1], term: 2, againMs: null });
  });

  it('leaves a lease to who was quicker and comes later by name', () => {
    const election = electionOf(2);
    election.leaseIs(0, leaseOf('', 1), 0);
    election.leaseIs(1, leaseOf('', 1), 0);
    election.choose(0);
    election.leaseIs(0, leaseOf('you', 2), 1);
    election.leaseIs(1, leaseOf('you', 2), 1);
    expect(election.choose(10_000)).toEqual({ takes: [], term: 2, againMs: null });
  });

  it('does not hear of links that are closed', () => {
    const election = electionOf(2);
    election.leaseIs(0, FREE, 0);
    election.closed(1);
    election.leaseIs(1, leaseOf('other', 1), 0);
    expect(election.choose(0).takes).toEqual([0]);
  });
});

describe('a controller that drives a worker', () => {
  const driving = () => {
    const election = electionOf(3);
    election.leaseIs(0, leaseOf('', 1), 0);
    election.choose(300);
    election.leaseIs(0, leaseOf('me', 2), 300);
    return election;
  };

  it('takes others in the same term as they come', () => {
    const election = driving();
    election.leaseIs(1, leaseOf('', 9), 400);
    expect(election.choose(400)).toEqual({ takes: [1], term: 2, againMs: null });
  });

  it('takes them from who has a lower term, and from no other', () => {
    const election = driving();
    election.leaseIs(1, leaseOf('other', 1), 400);
    election.leaseIs(2, leaseOf('other', 3), 400);
    expect(election.choose(400)).toEqual({ takes: [1], term: 2, againMs: null });
  });

  it('asks once, and again when it has lost the worker', () => {
    const election = driving();
    election.leaseIs(1, FREE, 400);
    expect(election.choose(400).takes).toEqual([1]);
    expect(election.choose(500).takes).toEqual([]);
    election.leaseIs(1, null, 600);
    election.leaseIs(1, FREE, 700);
    expect(election.choose(700).takes).toEqual([1]);
  });
});
