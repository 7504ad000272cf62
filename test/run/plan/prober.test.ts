import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { valuesOf } from '../../../src/run/plan/candidates.js';
import { parseTarget } from '../../../src/run/plan/judge.js';
import { latticeOf, parseOver } from '../../../src/run/plan/over.js';
import { Prober } from '../../../src/run/plan/prober.js';
import { search } from '../../../src/run/plan/search.js';
import { Trials } from '../../../src/run/plan/trials.js';
import { CellStore } from '../../../src/run/sweep/cell-store.js';
import type { CellRunner } from '../../../src/run/sweep/pool.js';
import type { CellOutcome, CellTask } from '../../../src/run/sweep/run-cell.js';
import { SMALL_EXPERIMENT } from '../../cli/run-cli.js';
import { cellResult } from '../sweep/fixtures.js';

const OVER = parseOver('cluster.gpus=1:60');
const SEEDS = [1, 2, 3];

test('the result does not depend on the number of threads, nor on which run ends first', async () => {
  const plans = await Promise.all([1, 2, 3, 8, 40].map((threads) => plan({ threads })));
  const [one] = plans;
  expect(one!.result).toMatchObject({ kind: 'boundary', answer: 37, before: 36 });
  for (const { result, tried } of plans)
    expect({ result, tried }).toEqual({ result: one!.result, tried: one!.tried });
});

test('threads that would be idle look ahead, and no more than they', async () => {
  const begun = async (threads: number) => (await plan({ threads })).begunAtFirstEnd;
  // Both ends, with three seeds each, are asked for at once.
  expect(await begun(2)).toBe(6);
  expect(await begun(20)).toBe(20);
});

test('a plan that was stopped goes on, and ends the same', async () => {
  const store = new CellStore(mkdtempSync(join(tmpdir(), 'escapement-')), true);
  const first = await plan({ threads: 1, store });
  const second = await plan({ threads: 4, store });
  expect(second.ran.filter((run) => first.ran.includes(run))).toEqual([]);
  expect(second.tried).toEqual(first.tried);
});

test('a value whose cluster cannot hold a model misses, and any other failure ends the plan', async () => {
  const { result, tried } = await plan({ threads: 2, fail: { upTo: 40, code: 'E_MODEL_TOO_LARGE' } });
  expect(result).toMatchObject({ answer: 40 });
  expect(tried[0]).toEqual({ value: '1', meets: 'no', figures: [], attainment: null, refused: 'failed' });
  await expect(plan({ threads: 2, fail: { upTo: 40, code: 'E_TRACE_VALUE' } })).rejects.toMatchObject({
    code: 'E_TRACE_VALUE',
  });
  await expect(plan({ threads: 2, fail: { upTo: 40, code: 'BUG' } })).rejects.toThrow(
    'cluster.gpus=1: failed',
  );
});

test('a value meets several targets where it meets all of them', async () => {
  const meets = async (...targets: string[]) => {
    const { tried } = await plan({ threads: 8, targets: ['goodputRps>=37', ...targets] });
    return tried.find(({ value }) => value === '60')?.meets;
  };
  expect(await meets('goodputRps>=1')).toBe('yes');
  expect(await meets('goodputRps>=60.2')).toBe('unsure');
  expect(await meets('goodputRps>=99')).toBe('no');
  expect(await meets('goodputRps>=60.2', 'goodputRps>=99')).toBe('no');
});

interface Behaviour {
  readonly targets?: readonly string[];
  readonly threads: number;
  readonly store?: CellStore;
  readonly fail?: { readonly upTo: number; readonly code: string };
}

/** Plans on runs that take no time: attainment grows by the GPU, a little more with some seeds. */
async function plan({ threads, store, fail, targets = ['goodputRps>=37'] }: Behaviour) {
  const ran: string[] = [];
  let begunAtFirstEnd = 0;
  const runner: CellRunner = {
    capacity: threads,
    async run({ overrides }: CellTask): Promise<CellOutcome> {
      const [gpus, seed] = ['cluster.gpus=', 'seed='].map((key) => numberOf(overrides, key)) as [
        number,
        number,
      ];
      ran.push(`${gpus} ${seed}`);
      await new Promise((resolve) => setTimeout(resolve, 5 + ((gpus * 5 + seed * 3) % 7)));
      begunAtFirstEnd ||= ran.length;
      if (fail !== undefined && gpus <= fail.upTo)
        return { status: 'failed', code: fail.code, message: 'failed' };
      return { status: 'done', json: JSON.stringify(cellResult(gpus + seed / 10)) };
    },
    close: async () => {},
  };
  const candidates = valuesOf(OVER, latticeOf(OVER, true));
  const trials = new Trials({
    ...{ text: SMALL_EXPERIMENT, file: 'small.yaml', overrides: [], candidates, seeds: SEEDS },
  });
  const prober = new Prober({
    ...{
      trials,
      targets: targets.map(parseTarget),
      version: '1',
      runner,
      store: store ?? null,
    },
    onRun: () => {},
  });
  const result = await search(candidates.size, 'low', prober);
  return { result, tried: await prober.tried(), ran, begunAtFirstEnd };
}

function numberOf(overrides: readonly string[], key: string): number {
  return Number(overrides.find((override) => override.startsWith(key))!.slice(key.length));
}
