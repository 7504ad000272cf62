import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { World } from '../../../src/live/world/world.js';
import type { SimProcess } from './index.js';
import { Simulation } from './index.js';

const S = 1e9;

/** Runs one process, and returns the lines that it said with the ms of its own clock. */
async function said(main: (process: SimProcess, say: (line: string) => void) => void, seconds = 10) {
  const simulation = new Simulation({ seed: 1 });
  const lines: string[] = [];
  const machine = simulation.machine('a', { originNs: 0 });
  const process = machine.process('p', (own) =>
    main(own, (line) => lines.push(`${Math.floor(own.world.time.monotonicNs() / 1e6)} ${line}`)),
  );
  process.start();
  return { simulation, machine, process, lines, run: () => simulation.run(seconds * S) };
}

/** What is seen of a process that does this. */
async function whatDied(main: (world: World) => void): Promise<string[]> {
  const seen: string[] = [];
  const simulation = new Simulation({
    seed: 1,
    tap: {
      threw: (_, { process }, thread, { message }) => seen.push(`${process} ${thread}: ${message}`),
      process: (_, { process, incarnation }, change) => seen.push(`${process}.${incarnation} ${change}`),
    },
  });
  const machine = simulation.machine('a');
  const process = machine.process('p', ({ world }) => {
    main(world);
  });
  process.start();
  await simulation.run(S);
  return seen;
}

describe('a simulated world', () => {
  it('runs timers by virtual time', async () => {
    const { lines, run } = await said(({ world: { time } }, say) => {
      time.after(1000, () => say('after'));
      const timer = time.every(400, () => say('every'));
      time.after(1300, () => timer.cancel());
      time.after(2000, () => say('cancelled')).cancel();
    });
    await run();
    expect(lines).toEqual(['400 every', '800 every', '1000 after', '1200 every']);
  });

  it('fires timers that are due at the same time in the order in which they were set', async () => {
    const { lines, run } = await said(({ world: { time } }, say) => {
      for (let i = 0; i < 50; i++) time.after(20, () => say(`${i}`));
      time.after(10, () => time.after(10, () => say('nested')));
    });
    await run();
    expect(lines.map((line) => line.split(' ')[1])).toEqual(
      [...Array(50).keys()].map(String).concat('nested'),
    );
  });

  it('settles all promises before the next event', async () => {
    const { lines, run } = await said(({ world: { time } }, say) => {
      time.after(1, async () => {
        for (let i = 0; i < 100; i++) await null;
        say('settled');
      });
      time.after(2, () => say('next'));
    });
    await run();
    expect(lines).toEqual(['1 settled', '2 next']);
  });

  it('runs `soon` after what has come in the same turn', async () => {
    const { lines, run } = await said(({ world: { time } }, say) => {
      time.soon(() => say('soon'));
      queueMicrotask(() => say('microtask'));
    });
    await run();
    expect(lines.map((line) => line.split(' ')[1])).toEqual(['microtask', 'soon']);
  });

  it('lets a frozen process do everything afterwards, an interval once', async () => {
    const { simulation, process, lines, run } = await said(({ world: { time } }, say) => {
      time.every(1000, () => say('every'));
      time.after(2500, () => say('after'));
    }, 6);
    simulation.at(1.5 * S, () => process.freeze());
    simulation.at(4.2 * S, () => process.thaw());
    await run();
    expect(lines).toEqual(['1000 every', '4200 every', '4200 after', '5200 every']);
  });

  it('forgets what a crashed process wanted, and starts it again', async () => {
    const { simulation, process, lines, run } = await said((own, say) => {
      own.world.time.after(1000, () => say(`run ${own.incarnation}`));
    }, 4);
    simulation.at(0.5 * S, () => process.crash());
    simulation.at(2 * S, () => process.start());
    await run();
    expect(lines).toEqual(['3000 run 2']);
  });

  it('gives machines clocks that drift and jump', async () => {
    const { simulation, machine, lines, run } = await said(({ world: { time } }, say) => {
      time.after(5000, () => say('after'));
      time.after(9000, () => say('later'));
    }, 8);
    simulation.at(1 * S, () => machine.jumpClock(1 * S));
    simulation.at(4 * S, () => expect(machine.clock.localNs()).toBe(5 * S));
    simulation.at(5 * S, () => machine.driftClock(1e6));
    await run();
    expect(lines).toEqual(['5000 after', '9000 later']);
    expect(machine.clock.localNs()).toBe(12 * S);
  });

  it('ends when it is asked whether it is over, or at the latest', async () => {
    const { simulation, lines } = await said(
      ({ world: { time } }, say) => void time.every(100, () => say('every')),
    );
    const asked: number[] = [];
    await simulation.runUntil(2 * S, S / 4, () => asked.push(simulation.nowNs / S) === 3);
    expect(asked).toEqual([0.25, 0.5, 0.75]);
    expect(lines).toHaveLength(7);
    await simulation.runUntil(0.9 * S, S, () => false);
    expect(simulation.nowNs).toBe(0.9 * S);
  });

  it.each([
    ['setTimeout', () => setTimeout(() => {}, 1)],
    ['setImmediate', () => setImmediate(() => {})],
    ['now', () => Date.now()],
    ['random', () => Math.random()],
    ['hrtime', () => process.hrtime()],
    ['bigint', () => process.hrtime.bigint()],
    ['randomUUID', () => randomUUID()],
  ])('does not let %s out', async (name, call) => {
    const { run } = await said(() => void call());
    await expect(run()).rejects.toThrow(`${name} was called in a simulated world`);
    expect(call).not.toThrow();
  });

  it('holds threads up by chance, and keeps the order of what comes', async () => {
    const simulation = new Simulation({ seed: 1, stalls: { probability: 0.2, longestNs: 0.5 * S } });
    const seen: number[] = [];
    const late: number[] = [];
    const process = simulation.machine('a').process('p', ({ world: { time } }) => {
      const beganNs = time.monotonicNs();
      for (let i = 1; i <= 500; i++)
        time.after(10 * i, () => {
          seen.push(i);
          late.push(time.monotonicNs() - beganNs - 10e6 * i);
        });
    });
    process.start();
    await simulation.run(60 * S);
    expect(seen).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
    expect(Math.max(...late)).toBeGreaterThan(0.2 * S);
    expect(Math.min(...late)).toBeLessThan(1e6);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('oh');
      },
    ],
    ['rejects', () => void Promise.reject(new Error('oh'))],
    ['rejects later', () => void Promise.resolve().then(() => Promise.reject(new Error('oh')))],
  ])('says that a process has died of what its timer %s', async (_, run) => {
    expect(await whatDied(({ time }) => time.after(10, run))).toEqual([
      'p.1 started',
      'p main: oh',
      'p.1 died',
    ]);
  });

  it('lets a rejection be caught in the same turn, and not later', async () => {
    const rejected = () => Promise.reject(new Error('oh'));
    const started = ['p.1 started'];
    expect(await whatDied(({ time }) => time.after(10, () => rejected().catch(() => {})))).toEqual(started);
    const later = await whatDied(({ time }) => {
      const promise = rejected();
      time.after(1, () => promise.catch(() => {}));
    });
    expect(later).toEqual([...started, 'p main: oh', 'p.1 died']);
  });

  it('does the same for the same seed, and something else for another', async () => {
    const digest = async (seed: number) => {
      const simulation = new Simulation({ seed });
      const main = ({ world: { time } }: SimProcess) => void time.every(10, () => time.soon(() => {}));
      for (const name of ['a', 'b']) simulation.machine(name).process(name, main).start();
      await simulation.run(S);
      return simulation.digest;
    };
    const [first, again, other] = [await digest(1), await digest(1), await digest(2)];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});
