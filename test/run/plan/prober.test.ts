import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseExperimentSource } from '../../../src/config/build.js';
import { parseTarget } from '../../../src/run/plan/judge.js';
import { latticeOf, parseOver } from '../../../src/run/plan/over.js';
import { Prober } from '../../../src/run/plan/prober.js';
import { search } from '../../../src/run/plan/search.js';
import type { CellRunner } from '../../../src/run/sweep/pool.js';
import type { CellOutcome, CellTask } from '../../../src/run/sweep/run-cell.js';
import { CellStore } from '../../../src/run/sweep/units.js';
import { SMALL_EXPERIMENT } from '../../cli/run-cli.js';
import { cellResult } from '../sweep/fixtures.js';

const OVER = parseOver('cluster.gpus=1:60');
const SEEDS = [1, 2, 3];

test('the result does not depend on which run ends first, and has all that ran', async () => {
  const plans = await Promise.all([1, 2, 3, 4, 5].map((order) => plan({ order })));
  const [one] = plans;
  expect(one!.result).toMatchObject({ kind: 'boundary', answer: 37, before: 36 });
  for (const { result, tried, ran } of plans) {
    expect({ result, tried }).toEqual({ result: one!.result, tried: one!.tried });
    expect(ran).toHaveLength(tried.length * SEEDS.length);
  }
});

test('a plan that was stopped goes on, and ends the same', async () => {
  const store = new CellStore(mkdtempSync(join(tmpdir(), 'escapement-')), true);
  const first = await plan({ store });
  const second = await plan({ order: 3, store });
  expect(second.ran.filter((run) => first.ran.includes(run))).toEqual([]);
  expect(second.tried).toEqual(first.tried);
});

test('a value whose cluster cannot hold a model misses, and any other failure ends the plan', async () => {
  const { result, tried } = await plan({ fail: { upTo: 40, code: 'E_MODEL_TOO_LARGE' } });
  expect(result).toMatchObject({ answer: 40 });
  expect(tried[0]).toMatchObject({
    value: '1',
    meets: 'no',
    figures: [],
    attainment: null,
    refused: 'failed',
  });
  await expect(plan({ fail: { upTo: 40, code: 'E_TRACE_VALUE' } })).rejects.toMatchObject({
    code: 'E_TRACE_VALUE',
  });
  await expect(plan({ fail: { upTo: 40, code: 'BUG' } })).rejects.toThrow('cluster.gpus=1: failed');
});

test('a value meets several targets where it meets all of them', async () => {
  const meets = async (...targets: string[]) => {
    const { tried } = await plan({ targets: ['goodputRps>=37', ...targets] });
    return tried.find(({ value }) => value === '60')?.meets;
  };
  expect(await meets('goodputRps>=1')).toBe('yes');
  expect(await meets('goodputRps>=60.2')).toBe('unsure');
  expect(await meets('goodputRps>=99')).toBe('no');
  expect(await meets('goodputRps>=60.2', 'goodputRps>=99')).toBe('no');
});

interface Behaviour {
  readonly targets?: readonly string[];
  /** Which run ends first. */
  readonly order?: number;
  readonly store?: CellStore;
  readonly fail?: { readonly upTo: number; readonly code: string };
}

/** Plans on runs that take no time: attainment grows by the GPU, a little more with some seeds. */
async function plan({ order = 0, store, fail, targets = ['goodputRps>=37'] }: Behaviour) {
  const ran: string[] = [];
  const runner: CellRunner = {
    async run({ overrides }: CellTask): Promise<CellOutcome> {
      const [gpus, seed] = ['cluster.gpus=', 'seed='].map((key) => numberOf(overrides, key)) as [
        number,
        number,
      ];
      ran.push(`${gpus} ${seed}`);
      await new Promise((resolve) => setTimeout(resolve, 5 + ((gpus * 5 + seed * 3 + order) % 7)));
      if (fail !== undefined && gpus <= fail.upTo)
        return { status: 'failed', code: fail.code, message: 'failed' };
      return { status: 'done', json: JSON.stringify(cellResult(gpus + seed / 10)) };
    },
    width: 2,
    close: async () => {},
  };
  const lattice = latticeOf(OVER, true);
  const candidate = (index: number) => {
    const value = lattice.text(index);
    return { value, name: `${value} GPUs`, settings: [`cluster.gpus=${value}`] };
  };
  const options = {
    ...{ source: parseExperimentSource(SMALL_EXPERIMENT, 'small.yaml'), overrides: [], overs: [OVER] },
    ...{ seeds: SEEDS, targets: targets.map(parseTarget), version: '1', onUnit: () => {} },
  };
  const prober = new Prober(options, { runner, store: store ?? null });
  const result = await search(
    lattice.size,
    'low',
    async (index) => (await prober.judge(candidate(index))).meets === 'yes',
  );
  const tried = (await prober.tried()).sort((a, b) => Number(a.value) - Number(b.value));
  return { result, tried, ran };
}

function numberOf(overrides: readonly string[], key: string): number {
  return Number(overrides.find((override) => override.startsWith(key))!.slice(key.length));
}
