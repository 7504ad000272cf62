import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkRun, NOT_IN_LOGS } from '../../src/audit/check-run.js';
import type { Rule } from '../../src/audit/rules.js';
import { POLICIES } from '../../src/policies/registry.js';
import { changeLog, type Row, simulateInto } from './run-folder.js';

const EXACT = { slackNs: 0 };
/** Clocks so far off that INFERs miss their windows. */
const RETRIES = ['missedWindow=retry', 'cluster.clockOffset=30ms'];
const LOAD = 1;
const INFER = 2;
const UNLOAD = 3;

/** What is wrong, in words; empty where all is well. */
function problems(dir: string, options = EXACT): string[] {
  const { claims, violations, unchecked } = checkRun(dir, options);
  return [
    ...claims.filter(({ ok }) => !ok).map((claim) => JSON.stringify(claim)),
    ...violations.map((violation) => JSON.stringify(violation)),
    ...unchecked.filter((what) => what !== NOT_IN_LOGS),
  ];
}

describe('runs as they are', () => {
  it.each(POLICIES.map(({ kind }) => kind))('support what is claimed of %s', async (kind) => {
    const dir = await simulateInto([`policy={ kind: ${kind} }`]);
    expect(problems(dir)).toEqual([]);
    const { rules } = checkRun(dir, EXACT);
    // GPUs come and go in the tests of scalers.
    for (const { rule, checked } of rules.filter((one) => one.rule !== 'fleet'))
      expect(checked, rule).toBeGreaterThan(0);
  });

  it.each([
    ['one lane', ['cluster.lanes=one', 'cluster.copyBandwidth=2GB/s']],
    ['GPU clocks that change', ['cluster.gpuClock=[{ at: 500ms, gpu: 0, factor: 0.7 }]']],
    ['admission by prediction', ['admission=predict']],
    ['overload', ['workload.0.rate=2000/s', 'workload.0.slo=10ms']],
    ['missed windows that are tried again', RETRIES],
    [
      'everything at once',
      [
        'cluster={ gpus: 3, pages: 14, network: { delay: 2ms, jitter: 1ms }, noise: { exec: 10%, load: 10% }, overhead: 100us, clockOffset: 1ms, copyBandwidth: 1GB/s }',
      ],
    ],
  ])('support what is claimed with %s', async (_, overrides) => {
    expect(problems(await simulateInto(overrides))).toEqual([]);
  });
});

it('takes an INFER whose weights changed while it ran for a missed window, not for a failure of the device', async () => {
  const dir = await simulateInto(['cluster.noise={ exec: 20%, load: 20%, stragglers: 2% }']);
  const file = join(dir, 'actions.tsv');
  let found = 0;
  const turn = (from: number, to: number) =>
    changeLog(file, file, (rows) => {
      const some = rows.filter(({ action_type, status }) => action_type === INFER && status === from);
      for (const row of some) row.status = to;
      found = some.length;
      return rows;
    });
  const [WEIGHTS_CHANGED, DEVICE_ERROR] = [84, 98];
  turn(WEIGHTS_CHANGED, DEVICE_ERROR);
  expect(found).toBeGreaterThan(0);
  expect(brokenRules(dir)).toEqual(['cause']);
  turn(DEVICE_ERROR, WEIGHTS_CHANGED);
  expect(problems(dir)).toEqual([]);
});

it('lets a request be refused that was queued again after its INFER had failed, and no other', async () => {
  const dir = await simulateInto(RETRIES);
  const refuse = (wanted: (row: Row) => boolean) => {
    const file = join(dir, 'requests.tsv');
    const before = readFileSync(file);
    changeLog(file, file, (rows) => {
      Object.assign(rows.find(wanted) as Row, { result: 7, deadline_met: 0 });
      return rows;
    });
    const broken = brokenRules(dir);
    writeFileSync(file, before);
    return broken;
  };
  expect(refuse(({ result, action_id }) => result === 4 && action_id >= 0)).not.toContain('served');
  expect(refuse(({ result, action_id }) => result === 0 && action_id >= 0)).toContain('served');
});

interface ModelRow {
  readonly requests: { ok: number };
  readonly executedLatencyMs: { p99: number };
  coldStarts: number;
  coldInTime: number;
  readonly failures: Record<string, number>;
}

function brokenRules(dir: string): Rule[] {
  const { ok, rules } = checkRun(dir, EXACT);
  expect(ok).toBe(false);
  return rules.filter(({ violations }) => violations > 0).map(({ rule }) => rule);
}

/** Changes fields of a row. */
const set = (row: Row, fields: Row) => void Object.assign(row, fields);
const first = (rows: readonly Row[], type: number) =>
  rows.find((row) => row.action_type === type && row.status === 0) as Row;
const served = (rows: readonly Row[]) =>
  rows.find((row) => row.result === 0 && row.deadline_met === 1) as Row;

/** Moves an action in time, window and all, so that nothing but its place is wrong. */
function shift(row: Row, byNs: number): void {
  for (const name of ['window_earliest', 'window_latest', 'worker_exec_begin', 'worker_exec_complete'])
    row[name] += byNs;
}

describe('logs that were tampered with', () => {
  let clean = '';
  beforeAll(async () => {
    clean = await simulateInto();
  });

  function tampered(log: string, change: (rows: Row[]) => unknown): string {
    const dir = mkdtempSync(join(tmpdir(), 'escapement-audit-'));
    for (const name of ['run.json', 'requests.tsv', 'actions.tsv'])
      copyFileSync(join(clean, name), join(dir, name));
    changeLog(join(clean, log), join(dir, log), (rows) => {
      const changed = change(rows);
      return Array.isArray(changed) ? changed : rows;
    });
    return dir;
  }

  const requests: [string, Rule, (rows: Row[]) => unknown][] = [
    ['a request has no answer', 'outcome', (rows) => rows.toSpliced(40, 1)],
    [
      'an answer in time was late',
      'slo',
      (rows) => set(served(rows), { deadline: served(rows).latency - 1 }),
    ],
    ['a late answer was in time', 'slo', (rows) => set(served(rows), { deadline_met: 0 })],
    ['an executed request was in no INFER', 'served', (rows) => set(served(rows), { action_id: -1 })],
    [
      'a request that was never executed was in an INFER',
      'served',
      (rows) => set(served(rows), { result: 4, deadline_met: 0 }),
    ],
    [
      'an INFER answered no request',
      'batch',
      (rows) => {
        const { action_id } = served(rows);
        for (const row of rows) if (row.action_id === action_id) row.action_id = -1;
      },
    ],
    [
      'an INFER answered more than its batch',
      'batch',
      (rows) => {
        const { model_id, action_id } = served(rows);
        const same = rows.filter((row) => row.model_id === model_id && row.result === 0).slice(0, 20);
        for (const row of same) row.action_id = action_id;
      },
    ],
    ['answers go back in time', 'order', (rows) => rows.toSpliced(40, 2, rows[60], rows[41])],
  ];
  it.each(requests)('%s', (_, rule, change) => {
    expect(brokenRules(tampered('requests.tsv', change))).toContain(rule);
  });

  const actions: [string, Rule, (rows: Row[]) => unknown][] = [
    [
      'an INFER began before its window',
      'window',
      (rows) => set(first(rows, INFER), { window_earliest: first(rows, INFER).worker_exec_begin + 2 }),
    ],
    [
      'an INFER began after its window',
      'window',
      (rows) => set(first(rows, INFER), { window_latest: first(rows, INFER).worker_exec_begin - 2 }),
    ],
    [
      'two INFERs ran at once',
      'lane',
      (rows) => {
        const [one, two] = rows.filter(
          (row) => row.action_type === INFER && row.status === 0 && row.gpu_id === 0,
        );
        shift(
          two,
          one.action_sent + one.worker_exec_complete - 5 - (two.action_sent + two.worker_exec_begin),
        );
      },
    ],
    ['an INFER ran without a LOAD', 'weights', (rows) => rows.filter((row) => row !== first(rows, LOAD))],
    [
      'an INFER ran after the UNLOAD',
      'weights',
      (rows) => {
        const load = first(rows, LOAD);
        const of = (row: Row) => row.model_id === load.model_id && row.gpu_id === load.gpu_id;
        const at = rows.findIndex((row) => row.action_type === INFER && of(row));
        const unload = {
          ...first(rows, UNLOAD),
          ...load,
          action_type: UNLOAD,
          action_id: 1e6,
          t: rows[at].t,
        };
        return rows.toSpliced(at, 0, unload);
      },
    ],
    [
      'an UNLOAD that made room never was',
      'pages',
      (rows) => rows.filter((row) => row.action_type !== UNLOAD),
    ],
    ['results go back in time', 'order', (rows) => rows.toSpliced(40, 2, rows[60], rows[41])],
    ['a result came before the end', 'order', (rows) => shift(first(rows, INFER), 50e6)],
    [
      'a round trip is not that from sending to result',
      'order',
      (rows) => set(rows[30], { controller_action_duration: 7 }),
    ],
    ['an answer came before the end of its INFER', 'answer', (rows) => shift(first(rows, INFER), 50e6)],
    [
      'an INFER failed whose requests were executed',
      'served',
      (rows) => set(first(rows, INFER), { status: 81 }),
    ],
  ];
  it.each(actions)('%s', (_, rule, change) => {
    expect(brokenRules(tampered('actions.tsv', change))).toContain(rule);
  });

  it('are measured with the overhead that a lane has, and no more', async () => {
    const dir = await simulateInto(['cluster.overhead=1ms']);
    expect(checkRun(dir, EXACT).ok).toBe(true);
    const beyond = (ns: number) => {
      changeLog(join(dir, 'actions.tsv'), join(dir, 'actions.tsv'), (rows) => {
        const infer = first(rows, INFER);
        infer.window_latest = infer.worker_exec_begin - 1e6 - ns;
        return rows;
      });
      return checkRun(dir, EXACT).violationCount;
    };
    expect([beyond(0), beyond(2)]).toEqual([0, 1]);
  });

  it('are those of one lane where LOADs and INFERs share it', async () => {
    const dir = await simulateInto(['cluster.lanes=one']);
    expect(checkRun(dir, EXACT).ok).toBe(true);
    changeLog(join(dir, 'actions.tsv'), join(dir, 'actions.tsv'), (rows) => {
      const infer = first(rows, INFER);
      const load = rows.find(
        (row) => row.action_type === LOAD && row.gpu_id === infer.gpu_id && row.t > infer.t,
      ) as Row;
      const beginNs = infer.action_sent + infer.worker_exec_begin + 5;
      shift(load, beginNs - (load.action_sent + load.worker_exec_begin));
      return rows;
    });
    expect(brokenRules(dir)).toContain('lane');
  });

  it('are given by file and line, the first ten of them', () => {
    const dir = tampered('requests.tsv', (rows) => {
      for (const row of rows.slice(4)) row.latency = -1;
    });
    const { ok, violations, violationCount, rules } = checkRun(dir, EXACT);
    expect([ok, violations.length]).toEqual([false, 10]);
    expect(violations[0]).toEqual({
      rule: 'order',
      file: join(dir, 'requests.tsv'),
      line: 6,
      what: 'answered 1 ns before it arrived',
    });
    expect(violationCount).toBeGreaterThan(100);
    const counts = rules.map(({ violations: count }) => count);
    expect(counts.reduce((sum, count) => sum + count)).toBe(violationCount);
  });

  /** Factors on figures of the summary, by path. */
  const claims: [string, string, number][] = [
    ['timeout', 'requests.timeout', 2],
    ['goodputRps', 'goodputRps', 1.0001],
    ['attainment', 'attainment', 1.0001],
    ['offered p50 ms', 'offeredLatencyMs.p50', 0.998],
    ['executed mean ms', 'executedLatencyMs.mean', 1.0001],
    ['executed p99 ms', 'executedLatencyMs.p99', 0.998],
    ['offered p33.3 ms', 'percentiles.0.offeredMs', 1.002],
    ['coldStarts', 'coldStarts', 2],
    ['coldInTime', 'coldInTime', 2],
    ['worstModel attainment', 'worstModel.attainment', 1.01],
    ['modelsAssessed', 'modelsAssessed', 2],
    ['failures timedOutQueued', 'failures.timedOutQueued', 2],
    ['infer', 'actions.infer', 2],
    ['inferByBatch 1', 'actions.inferByBatch.1', 2],
    ['execUtilization', 'gpu.execUtilization', 0.9],
  ];
  it.each(claims)('contradict another %s', (figure, path, factor) => {
    const dir = tampered('requests.tsv', () => {});
    const run = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    const keys = path.split('.');
    const last = keys.pop() as string;
    const holder = keys.reduce((node, key) => node[key], run.summary);
    expect(holder[last]).toBeGreaterThan(0);
    holder[last] *= factor;
    writeFileSync(join(dir, 'run.json'), JSON.stringify(run));
    const audit = checkRun(dir, EXACT);
    expect(audit.ok).toBe(false);
    expect(audit.claims.filter(({ ok }) => !ok).map((claim) => claim.figure)).toContain(figure);
  });

  it('contradict that requests which failed count as if they had not been offered', () => {
    const dir = tampered('requests.tsv', () => {});
    const run = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    expect(run.summary.offeredLatencyMs).toMatchObject({ mean: null, p99: null, max: null });
    run.summary.offeredLatencyMs = run.summary.executedLatencyMs;
    writeFileSync(join(dir, 'run.json'), JSON.stringify(run));
    const wrong = checkRun(dir, EXACT).claims.filter(({ ok }) => !ok);
    expect(wrong.map(({ figure }) => figure)).toEqual(
      expect.arrayContaining(['offered mean ms', 'offered p99 ms', 'offered max ms']),
    );
  });

  it.each([
    ['of a request that was in time', 1, 0],
    ['missing of one that was not', 0, -1],
    ['of another kind', 0, 5],
  ])('contradict a cause %s', (_, met, cause) => {
    const dir = tampered('requests.tsv', (rows) => {
      const row = rows.findLast((one) => one.deadline_met === met)!;
      expect(row.cause).not.toBe(cause);
      row.cause = cause;
    });
    expect(brokenRules(dir)).toEqual(['cause']);
  });

  it('contradict what models with few requests are said to have got together', async () => {
    const dir = await simulateInto(['workload.0.rate=50/s', 'workload.1.rate=40/s']);
    expect(problems(dir)).toEqual([]);
    const run = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    const { summary } = run;
    const { models, offered, attainment } = summary.rareModels;
    expect([models, summary.modelsAssessed].every((count) => count > 0)).toBe(true);
    summary.rareModels = { models: models + 1, offered: offered + 1, attainment: attainment * 0.9 };
    writeFileSync(join(dir, 'run.json'), JSON.stringify(run));
    const wrong = checkRun(dir, EXACT).claims.filter(({ ok }) => !ok);
    expect(wrong.map((claim) => claim.figure)).toEqual([
      'rareModels',
      'rareModels offered',
      'rareModels attainment',
    ]);
  });

  it.each([
    ['failures timedOutCold', (row: ModelRow) => row.failures.timedOutCold++],
    ['ok', (row: ModelRow) => row.requests.ok--],
    ['executed p99 ms', (row: ModelRow) => (row.executedLatencyMs.p99 *= 1.02)],
    ['coldStarts', (row: ModelRow) => row.coldStarts++],
    ['coldInTime', (row: ModelRow) => row.coldInTime--],
  ])('contradict other %s of a model', (figure, change) => {
    const dir = tampered('requests.tsv', () => {});
    const run = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    const [, row] = run.summary.by.model;
    change(row);
    writeFileSync(join(dir, 'run.json'), JSON.stringify(run));
    const wrong = checkRun(dir, EXACT).claims.filter(({ ok }) => !ok);
    expect(wrong.map((claim) => claim.figure)).toEqual([`model ${row.key}: ${figure}`]);
  });

  it('contradict another worst model, nor that it had other requests', () => {
    const dir = tampered('requests.tsv', () => {});
    const run = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    const { worstModel } = run.summary;
    expect(worstModel.name).toBe(run.summary.by.model[0].key);
    const wrongWith = (change: object) => {
      run.summary.worstModel = { ...worstModel, ...change };
      writeFileSync(join(dir, 'run.json'), JSON.stringify(run));
      return checkRun(dir, EXACT)
        .claims.filter(({ ok }) => !ok)
        .map(({ figure }) => figure);
    };
    expect(wrongWith({})).toEqual([]);
    expect(wrongWith({ name: run.summary.by.model[1].key })).toEqual(['worstModel id']);
    expect(wrongWith({ name: 'other' })).toEqual(['worstModel id']);
    expect(wrongWith({ offered: worstModel.offered + 1 })).toEqual(['worstModel offered']);
  });

  it('of earlier versions, or of a client, are checked as far as they go', () => {
    const dir = tampered('requests.tsv', () => {});
    const log = readFileSync(join(dir, 'requests.tsv'), 'utf8');
    writeFileSync(join(dir, 'requests.tsv'), log.replaceAll(/(\t[^\t]*){2}\n/g, '\n'));
    const { setup: _, ...run } = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    const { actions: __, gpu: ___, ...summary } = run.summary;
    writeFileSync(join(dir, 'run.json'), JSON.stringify({ ...run, summary }));
    rmSync(join(dir, 'actions.tsv'));
    const { ok, unchecked, rules } = checkRun(dir, EXACT);
    expect(ok).toBe(true);
    expect(unchecked).toHaveLength(6);
    expect(rules.find(({ rule }) => rule === 'window')?.checked).toBe(0);
  });

  it.each([
    [
      'requests.tsv',
      (text: string) => text.replace('\tlatency\t', '\tdelay\t'),
      /requests\.tsv: has no column latency/,
    ],
    [
      'requests.tsv',
      (text: string) => text.slice(0, -9),
      /requests\.tsv:\d+: is cut off in the middle of a line/,
    ],
    [
      'actions.tsv',
      (text: string) => text.replace(/\n(\d+)\t/, '\nsoon\t'),
      /actions\.tsv:2: 'soon' is not a number/,
    ],
    [
      'run.json',
      () => '{"version": 2}',
      /run\.json: version: is of version 2, but this program reads version 7; run /,
    ],
    ['run.json', () => '{"version": 7}', /run\.json: .*: is missing or invalid/],
    ['run.json', () => '{', /run\.json: is not valid JSON/],
  ])('of %s that are no log are refused', (name, change, message) => {
    const dir = tampered('requests.tsv', () => {});
    writeFileSync(join(dir, name), change(readFileSync(join(dir, name), 'utf8')));
    expect(() => checkRun(dir, EXACT)).toThrow(message);
  });
});

describe('the part of the GPUs that a class or a tenant got', () => {
  it.each([
    ['class', 'classes=[{ name: loose }, { name: tight, weight: 10, share: 20% }]'],
    ['tenant', 'tenants.list=[{ name: loose }, { name: tight }]'],
  ])('is recomputed from who was in which INFER, and a false claim is found: %s', async (kind, declared) => {
    const dir = await simulateInto([declared, `workload.0.${kind}=tight`]);
    const run = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    const sharesOf = () => checkRun(dir, EXACT).claims.filter(({ figure }) => figure.endsWith('gpuShare'));
    const [loose, tight] = sharesOf();
    expect([loose?.ok, tight?.ok]).toEqual([true, true]);
    expect(tight?.recomputed).toBeGreaterThan(0.1);
    expect(Number(loose?.recomputed) + Number(tight?.recomputed)).toBeCloseTo(1, 9);
    run.summary.by[kind][1].gpuShare += 0.001;
    writeFileSync(join(dir, 'run.json'), JSON.stringify(run));
    expect(sharesOf().map(({ figure, ok }) => [figure, ok])).toEqual([
      [`${kind} loose: gpuShare`, true],
      [`${kind} tight: gpuShare`, false],
    ]);
  });
});

it('recomputes whom the limits of tenants refused', async () => {
  const dir = await simulateInto([
    'tenants.list=[{ name: any, rate: 200/s, burst: 5 }, { name: other }]',
    'workload.1.tenant=other',
  ]);
  expect(problems(dir)).toEqual([]);
  const { claims } = checkRun(dir, EXACT);
  expect(claims.find(({ figure }) => figure === 'tenant any: overRate')?.recomputed).toBeGreaterThan(50);
  const file = join(dir, 'requests.tsv');
  changeLog(file, file, (rows) => {
    rows.find(({ cause, t }) => cause === 7 && t > 1e9)!.cause = 1;
    return rows;
  });
  const found = problems(dir).join('\n');
  expect(found).toContain('tenant any: overRate');
  expect(found).toContain('failures overRate');
});
