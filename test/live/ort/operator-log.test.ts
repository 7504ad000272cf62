import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alignRuns, readOperatorLog } from '../../../src/live/ort/operator-log.js';

/** Lines as onnxruntime 1.30 writes them. */
const HEAD = '{"cat" : "Session","pid" :7,"tid" :7,"dur" :3418,"ts" :1236,"ph" : "X",';
const INITIALIZATION = `${HEAD}"name" :"session_initialization","args" : {}},`;
const kernel = (name: string, operator: string, ts: number, dur: number) =>
  `{"cat" : "Node","pid" :7,"tid" :7,"dur" :${dur},"ts" :${ts},"ph" : "X","name" :"${name}_kernel_time","args" : {"node_index" : "187","input_type_shape" : [{"float":[1,3,64,64]}],"op_name" : "${operator}","provider" : "CPUExecutionProvider","thread_scheduling_stats" : ""}},`;
const session = (name: string, ts: number, dur: number, comma = ',') =>
  `{"cat" : "Session","pid" :7,"tid" :7,"dur" :${dur},"ts" :${ts},"ph" : "X","name" :"${name}","args" : {}}${comma}`;

const LINES = [
  '[',
  INITIALIZATION,
  kernel('clip_2', 'Conv', 4845, 55),
  kernel('Gemm_151', 'Gemm', 4905, 23),
  session('SequentialExecutor::Execute', 4830, 100),
  session('model_run', 4820, 120),
  kernel('clip_2', 'Conv', 5845, 54),
  session('SequentialExecutor::Execute', 5830, 90),
  session('model_run', 5820, 110, ''),
  ']',
];

describe('readOperatorLog', () => {
  it('reads runs and their operators', () => {
    const provider = 'CPUExecutionProvider';
    expect(readOperatorLog(LINES.join('\n'))).toEqual([
      {
        beginUs: 4820,
        tookUs: 120,
        operators: [
          { name: 'clip_2', operator: 'Conv', provider, beginUs: 4845, tookUs: 55 },
          { name: 'Gemm_151', operator: 'Gemm', provider, beginUs: 4905, tookUs: 23 },
        ],
      },
      {
        beginUs: 5820,
        tookUs: 110,
        operators: [{ name: 'clip_2', operator: 'Conv', provider, beginUs: 5845, tookUs: 54 }],
      },
    ]);
  });

  it('takes the times of the GPU where there are any', () => {
    const gpu = (name: string, ts: number, dur: number) =>
      `{"cat" : "Api","pid" :-1,"tid" :-1,"dur" :${dur},"ts" :${ts},"ph" : "X","name" :"${name}","args" : {"shapes" : "inputs[0] = {3,1024} ","cache_key" : "Conv2dMM[0]:16"}},`;
    const later = [gpu('clip_2&Conv&Conv2dMM', 4850, 60), gpu('clip_2&Conv&Transpose', 4910, 5)];
    const [first, second] = readOperatorLog([...LINES.slice(0, -1), ...later, ']'].join('\n'));
    const node = { name: 'clip_2', operator: 'Conv', provider: 'CPUExecutionProvider' };
    expect(first.operators).toEqual([
      { ...node, beginUs: 4850, tookUs: 60 },
      { ...node, beginUs: 4910, tookUs: 5 },
    ]);
    expect(second.operators).toEqual([{ ...node, beginUs: 5845, tookUs: 54 }]);
  });

  it('accepts a file that is empty, or cut off anywhere', () => {
    const text = LINES.join('\n');
    for (let length = 0; length < text.length; length++) {
      const runs = readOperatorLog(text.slice(0, length));
      expect(readOperatorLog(text).slice(0, runs.length)).toEqual(runs);
    }
  });
});

/** Runs one after the other by a clock that counts µs from `originNs`, each with some time around it. */
const runs = fc.array(
  fc.record({
    gapNs: fc.nat(10_000_000),
    beforeNs: fc.nat(100_000),
    tookNs: fc.nat(50_000_000),
    afterNs: fc.nat(100_000),
  }),
  { minLength: 1, maxLength: 40 },
);

describe('alignRuns', () => {
  it('finds the other clock, to half of the shortest time around a run', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: -(2 ** 50), max: 2 ** 50 }), (made, originNs) => {
        let nowNs = 2 ** 50;
        const measured: { beginNs: number; endNs: number }[] = [];
        const logged: { beginUs: number; tookUs: number }[] = [];
        for (const { gapNs, beforeNs, tookNs, afterNs } of made) {
          const beginNs = nowNs + gapNs;
          const ranNs = beginNs + beforeNs;
          // What lies between is at least what is lost when times are cut off to µs.
          const endNs = ranNs + tookNs + afterNs + 1000;
          measured.push({ beginNs, endNs });
          logged.push({ beginUs: Math.floor((ranNs - originNs) / 1000), tookUs: Math.floor(tookNs / 1000) });
          nowNs = endNs;
        }
        const least = Math.min(...made.map(({ beforeNs, afterNs }) => beforeNs + afterNs));
        for (const [i, offsetNs] of alignRuns(logged, measured).entries()) {
          expect(offsetNs + logged[i].beginUs * 1000).toBeGreaterThanOrEqual(measured[i].beginNs - 1);
          const endNs = offsetNs + (logged[i].beginUs + logged[i].tookUs) * 1000;
          expect(endNs).toBeLessThanOrEqual(measured[i].endNs + 1);
          expect(Math.abs(offsetNs - originNs)).toBeLessThanOrEqual(least / 2 + 3000);
        }
      }),
    );
  });

  it('keeps every run in its time where the clocks drift apart', () => {
    const measured = Array.from({ length: 50 }, (_, i) => ({ beginNs: i * 1e9, endNs: i * 1e9 + 1.1e6 }));
    // One second of the other clock is 10 µs longer: 0.5 ms at the end, and each run has 0.1 ms around it.
    const logged = measured.map(({ beginNs }) => ({
      beginUs: Math.floor(((beginNs + 50_000) * (1 + 1e-5)) / 1000),
      tookUs: 1000,
    }));
    for (const [i, offsetNs] of alignRuns(logged, measured).entries()) {
      expect(offsetNs + logged[i].beginUs * 1000).toBeGreaterThanOrEqual(measured[i].beginNs);
      expect(offsetNs + logged[i].beginUs * 1000 + 1e6).toBeLessThanOrEqual(measured[i].endNs);
    }
  });

  it('puts a run that seems to last longer than it was measured in the middle of its time', () => {
    expect(alignRuns([{ beginUs: 5, tookUs: 10 }], [{ beginNs: 100_000, endNs: 104_000 }])).toEqual([92_000]);
    expect(alignRuns([], [])).toEqual([]);
  });
});
