import { describe, expect, it } from 'vitest';
import { simulate } from '../../src/run/simulated.js';
import { BASE, load } from '../config/experiment-files.js';

const SECTIONS = BASE.replace(
  /^workload:.*\n/m,
  `workload:
  - { name: users, kind: poisson, rate: 100/s, duration: 1s, slo: 50ms }
  - { kind: fixed, rate: 10/s, duration: 1s }
  - { kind: fixed, rate: 10/s, duration: 1s }
`,
);

describe('the result of a run', () => {
  it('has a group for each section, by name or else by kind, with its SLO', async () => {
    const { sloMs, summary } = await simulate(await load(SECTIONS));
    expect(sloMs).toBeNull();
    expect(summary.by.group!.map((group) => [group.key, group.sloMs])).toEqual([
      ['users', 50],
      ['fixed', 100],
      ['fixed-2', 100],
    ]);
  });

  it('says what happened to GPUs, and when', async () => {
    const { events, windows } = await simulate(
      await load(BASE, [
        'cluster.gpuClock=[{ at: 3s, factor: 0.8 }, { at: 1s, gpu: 0, factor: 0.5 }]',
        'workload.rate=100/s',
        'workload.duration=4s',
      ]),
    );
    expect(events).toEqual([
      { atSeconds: 1, kind: 'clock', text: 'clock of GPU 0 × 0.5' },
      { atSeconds: 3, kind: 'clock', text: 'clock of all GPUs × 0.8' },
    ]);
    // Slower kernels keep the GPU busier under the same load.
    const busy = windows.map(({ execUtilization }) => execUtilization!);
    // The last one has what was answered after the end.
    expect(busy).toHaveLength(5);
    expect(Math.min(busy[1]!, busy[2]!)).toBeGreaterThan(busy[0]! * 1.1);
    expect(await simulate(await load(BASE, ['workload.duration=1s']))).not.toHaveProperty('events');
  });

  it.each([
    ['slo: 200ms\n', '5,0,100000000\n9,0,50000000', 200],
    ['', '5,0,100000000\n9,0,50000000', null],
    ['', '5,0,100000000\n9,0,100000000', 100],
  ])('has the SLO of a file whose rows agree on it, unless %j sets it: %j', async (slo, rows, expected) => {
    const text = BASE.replace(/^workload:.*$/m, 'workload: { kind: arrivals, path: rows.csv, duration: 1s }');
    const files = { 'rows.csv': `arrival_ns,model_id,slo_ns\n${rows}\n` };
    const { sloMs } = await simulate(await load(text.replace(/^slo:.*\n/m, slo), [], files));
    expect(sloMs).toBe(expected);
  });
});
