import { describe, expect, it } from 'vitest';
import { INFER } from '../../src/core/action.js';
import type { RunObserver } from '../../src/core/observer.js';
import { simulate } from '../../src/run/simulated.js';
import { Simulation } from '../../src/run/simulation.js';
import { BASE, load } from '../config/experiment-files.js';

const MS = 1e6;
/** Everything that draws random numbers or waits. */
const TEXT = BASE.replace(
  /^cluster:.*\n/m,
  'cluster: { gpus: 2, pages: 20, network: { delay: 100us, jitter: 50us }, noise: { exec: 0.02, load: 0.02 } }\n',
);
const experiment = () => load(TEXT, ['workload.duration=500ms', 'workload.rate=900/s', 'slo=40ms']);

/** A result without what it cost on this machine. */
function figures({ summary: { wall, ...summary }, ...result }: Awaited<ReturnType<typeof simulate>>) {
  return { ...result, summary };
}

describe('a simulation in steps', () => {
  it.each([
    ['one instant', (nextNs: number) => nextNs],
    ['a frame', (nextNs: number) => nextNs + 0.32 * MS],
    ['most of the run', (nextNs: number) => nextNs + 400 * MS],
    ['the whole', () => Number.POSITIVE_INFINITY],
  ])('of %s gives the result of a run at once', async (_, until) => {
    const simulation = await Simulation.open(await experiment());
    while (simulation.nextNs < Number.POSITIVE_INFINITY) {
      const untilNs = until(simulation.nextNs);
      await simulation.advance(untilNs);
      expect(simulation.nowNs).toBeLessThanOrEqual(untilNs);
      expect(simulation.nextNs).toBeGreaterThan(untilNs === Number.POSITIVE_INFINITY ? 0 : untilNs);
    }
    expect(figures(simulation.result())).toEqual(figures(await simulate(await experiment())));
  });

  it('stays where it is if asked to go back, and refuses what is no time', async () => {
    const simulation = await Simulation.open(await experiment());
    await simulation.advance(100 * MS);
    const { nowNs } = simulation;
    await simulation.advance(50 * MS);
    await expect(simulation.advance(Number.NaN)).rejects.toThrow(RangeError);
    expect(simulation.nowNs).toBe(nowNs);
    await simulation.advance(Number.POSITIVE_INFINITY);
    await simulation.advance(Number.POSITIVE_INFINITY);
    expect(figures(simulation.result())).toEqual(figures(await simulate(await experiment())));
  });

  it('shows each decision when it is made, with its window, and each result', async () => {
    const planned = new Map<number, string>();
    const ended: string[] = [];
    const seen = ({ id, kind, gpu, model, earliestNs, latestNs }: Parameters<RunObserver['completed']>[0]) =>
      [id, kind, gpu, model, earliestNs, latestNs].join(' ');
    let infers = 0;
    const observer: RunObserver = {
      decided: (action, nowNs) => {
        expect(action.sentNs).toBe(nowNs);
        expect(simulation.nowNs).toBe(nowNs);
        planned.set(action.id, seen(action));
      },
      completed: (action) => {
        if (action.kind === INFER) infers++;
        expect(planned.get(action.id)).toBe(seen(action));
        ended.push(seen(action));
      },
      answered: () => {},
    };
    const simulation = await Simulation.open(await experiment(), { observer });
    await simulation.advance(Number.POSITIVE_INFINITY);
    expect(ended).toHaveLength(planned.size);
    expect(infers).toBeGreaterThan(50);
    expect(simulation.result().summary.digest).toBe((await simulate(await experiment())).summary.digest);
  });
});
