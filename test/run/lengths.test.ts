import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkRun } from '../../src/audit/check-run.js';
import { loadExperiment } from '../../src/config/load.js';
import { POLICIES } from '../../src/policies/registry.js';
import { live } from '../../src/run/live.js';
import { run } from '../../src/run/run.js';
import { simulate } from '../../src/run/simulated.js';
import { changeLog } from '../audit/run-folder.js';
import { folder } from '../config/experiment-files.js';
import { rejection } from '../config/failure.js';
import { madeUpProfile } from '../made-up-profile.js';
import { expectReplay } from '../serve/fixtures.js';

const batches = (ms: number) => [1, 2, 4, 8].map((batch) => ({ batch, medianMs: ms * (0.4 + 0.6 * batch) }));
/** 1 ms for 16 tokens and 16 ms for 256, alone. */
const TEXTS = madeUpProfile({
  ...{ name: 'texts', weightsBytes: 1e8, loadMs: 8, inputBytes: 1024, length: 256 },
  shorter: [16, 64].map((length) => ({ length, batches: batches(length / 16) })),
  batches: batches(16),
});

const EXPERIMENT = `seed: 3
cluster: { gpus: 1 }
models: { kind: profile, path: texts.json }
workload: { kind: poisson, rate: 300/s, duration: 3s, length: { kind: lognormal, median: 24, sigma: 1, max: 256 } }
slo: 100ms
`;

function written(text = EXPERIMENT, files = {}): string {
  return join(folder({ 'exp.yaml': text, 'texts.json': JSON.stringify(TEXTS), ...files }), 'exp.yaml');
}

/** Runs it and leaves what a command leaves. */
async function runInto(overrides: readonly string[]) {
  const path = written();
  const outDir = join(path, '..', 'out');
  const run = await simulate(await loadExperiment(path, overrides), { outDir });
  writeFileSync(join(outDir, 'run.json'), JSON.stringify(run));
  return { run, outDir };
}

describe('a run of inputs of several lengths', () => {
  it.each(POLICIES.map(({ kind }) => kind))(
    'under %s says of each length what it got, and passes its check',
    async (kind) => {
      const { run, outDir } = await runInto([`policy.kind=${kind}`, 'checks=true']);
      const { requests, by } = run.summary;
      expect(by.length!.map(({ key }) => key)).toEqual(['16', '64', '256']);
      for (const of of ['offered', 'ok'] as const)
        expect(by.length!.reduce((sum, each) => sum + each.requests[of], 0)).toBe(requests[of]);
      const audit = checkRun(outDir, { slackNs: 0 });
      expect(audit.violations).toEqual([]);
      expect(audit.claims.filter(({ ok }) => !ok)).toEqual([]);
      expect(audit.rules.find(({ rule }) => rule === 'length')?.checked).toBeGreaterThan(10);
    },
  );

  it.each([
    { lengths: 'kind: list, values: [16, 17, 200]', rate: 150, least: 2 },
    // More lengths wait than may have a line of their own.
    { lengths: 'kind: uniform, from: 1, to: 256', rate: 1500, least: 1.01 },
  ])('batches equal lengths only where inputs are not padded: $lengths', async ({ lengths, rate, least }) => {
    const text = EXPERIMENT.replace(/length: .* }/, `length: { ${lengths} } }`)
      .replace('300/s', `${rate}/s`)
      .replace('slo: 100ms', 'slo: 1s');
    const path = written(text, { 'texts.json': JSON.stringify({ ...TEXTS, equalLengths: true }) });
    const outDir = join(path, '..', 'out');
    const run = await simulate(await loadExperiment(path, ['policy.kind=escapement', 'checks=true']), {
      outDir,
    });
    writeFileSync(join(outDir, 'run.json'), JSON.stringify(run));
    expect(checkRun(outDir, { slackNs: 0 }).violations).toEqual([]);
    const batches = new Map<number, number[]>();
    changeLog(join(outDir, 'requests.tsv'), join(outDir, 'requests.tsv'), (rows) => {
      for (const { action_id: id, length } of rows)
        if (id !== -1) batches.set(id!, [...(batches.get(id!) ?? []), length!]);
      return rows;
    });
    const all = [...batches.values()];
    expect(all.filter((batch) => new Set(batch).size > 1)).toEqual([]);
    expect(all.flat().length / all.length).toBeGreaterThan(least);
  });

  it('is caught where a batch was padded to less than its longest input, or to more than it needs', async () => {
    const { outDir } = await runInto(['policy.kind=fifo']);
    const actions = join(outDir, 'actions.tsv');
    for (const [from, to] of [
      [256, 64],
      [16, 64],
      [64, 65],
    ] as const) {
      const before = readFileSync(actions, 'utf8');
      changeLog(actions, actions, (rows) => {
        const row = rows.find(({ padded_length: padded }) => padded === from)!;
        row.padded_length = to;
        return rows;
      });
      const { violations } = checkRun(outDir, { slackNs: 0 });
      expect(violations.map(({ rule }) => rule)).toEqual(['length']);
      writeFileSync(actions, before);
    }
  });
});

describe('a live run of inputs of several lengths', () => {
  it('takes what each batch is padded to, is checked, and is replayed from its journal', async () => {
    const path = written(
      EXPERIMENT.replace('duration: 3s', 'duration: 1s').replace('slo: 100ms', 'slo: 20s'),
    );
    const outDir = join(path, '..', 'out');
    mkdirSync(outDir);
    const journal = join(outDir, 'run.journal');
    const experiment = await loadExperiment(path, ['policy.kind=escapement']);
    const { result } = await run(experiment, live(journal), { outDir });
    writeFileSync(join(outDir, 'run.json'), JSON.stringify(result));
    const { violations, claims, rules } = checkRun(outDir, { slackNs: 50e6 });
    expect(violations).toEqual([]);
    expect(claims.filter(({ ok }) => !ok)).toEqual([]);
    expect(rules.find(({ rule }) => rule === 'length')?.checked).toBeGreaterThan(10);
    // Which batches there are depends on how busy the machine is; what each takes does not.
    const lengths = new Set<number>();
    for (const [name, [took]] of executions(outDir)) {
      const [length, batch] = name.split(' × ').map(Number) as [number, number];
      lengths.add(length);
      expect(took, name).toBeCloseTo((length / 16) * (0.4 + 0.6 * batch) * 1e6, 0);
    }
    expect(lengths.size).toBeGreaterThan(1);
    await expectReplay(journal, result.summary.requests.offered, result.summary.digest);
  });
});

describe('lengths of a workload', () => {
  it('come from a column of arrivals, and from the tokens of a trace', async () => {
    const text = EXPERIMENT.replace(/workload: .*/, 'workload: { kind: arrivals, path: lengths.csv }');
    const arrivals = 'arrival_ns,model_id,slo_ns,length\n0,0,90000000,3\n5,texts,90000000,200\n';
    const path = written(text, { 'lengths.csv': arrivals });
    await simulate(await loadExperiment(path), { outDir: join(path, '..', 'out') });
    expect([...seenLengths(join(path, '..', 'out'))].sort()).toEqual([200, 3]);
    const trace =
      'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,300,10\n2023-11-16 18:17:04,20,0\n';
    for (const [of, expected] of [
      ['context', [20, 256]],
      ['generated', [1, 10]],
      ['both', [20, 256]],
    ] as const) {
      const llm = `workload: { kind: azure-llm, path: llm.csv, length: { kind: tokens, of: ${of}, max: 256 } }`;
      const other = written(EXPERIMENT.replace(/workload: .*/, llm), { 'llm.csv': trace });
      await simulate(await loadExperiment(other), { outDir: join(other, '..', 'out') });
      expect([...seenLengths(join(other, '..', 'out'))].sort((a, b) => a - b)).toEqual(expected);
    }
  });

  it.each([
    [
      'length: { kind: constant, value: 300 }',
      'inputs as long as 300 are more than texts takes: its profile ends at 256',
    ],
    ['slo: 1s', 'texts takes inputs of several lengths: say how long those of this workload are'],
    ['length: { kind: uniform, from: 9, to: 3 }', 'must be at least 9'],
    ['length: { kind: tokens }', 'only azure-llm traces have tokens'],
  ])('that can not be are refused in one line: %s', async (length, message) => {
    const path = written(EXPERIMENT.replace(/length: \{.*?\}/, length));
    const error = await rejection(loadExperiment(path).then((experiment) => simulate(experiment)));
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('\n');
  });

  it.each([
    ['9', '"0" is not a length', '0'],
    ['9', '257 is more than the model takes, whose profile ends at 256', '257'],
  ])('in a file are refused with their line: %s', async (_, message, length) => {
    const text = EXPERIMENT.replace(/workload: .*/, 'workload: { kind: arrivals, path: lengths.csv }');
    const arrivals = `arrival_ns,model_id,slo_ns,length\n0,0,90000000,3\n5,0,90000000,${length}\n`;
    const error = await rejection(
      loadExperiment(written(text, { 'lengths.csv': arrivals })).then((experiment) => simulate(experiment)),
    );
    expect(error.message).toContain(`lengths.csv:3`);
    expect(error.message).toContain(message);
  });
});

describe('lengths of a profile', () => {
  it.each([
    [{ shorter: [{ length: 300, batches: batches(1) }] }, 'lengths must ascend, found 300, 256'],
    [
      { shorter: [{ length: 16, batches: batches(1).slice(1) }] },
      'must have the batch sizes of the longest length',
    ],
    [{ length: undefined }, 'needs the longest length too'],
  ])('that can not be are refused in one line: %j', async (over, message) => {
    const path = written(EXPERIMENT, { 'texts.json': JSON.stringify({ ...TEXTS, ...over }) });
    const error = await rejection(loadExperiment(path));
    expect(error.message).toContain(message);
  });
});

/** Durations of INFERs by what they were padded to and their batch size. */
function executions(outDir: string): Map<string, number[]> {
  const [header, ...rows] = readFileSync(join(outDir, 'actions.tsv'), 'utf8').trim().split('\n');
  const at = (name: string) => header!.split('\t').indexOf(name);
  const found = new Map<string, number[]>();
  for (const row of rows.map((line) => line.split('\t').map(Number))) {
    if (row[at('action_type')] !== 2 || row[at('status')] !== 0) continue;
    const key = `${row[at('padded_length')]} × ${row[at('batch_size')]}`;
    found.set(key, [...(found.get(key) ?? []), row[at('worker_exec_duration')]!]);
  }
  return found;
}

/** Lengths of the request log. */
function seenLengths(outDir: string): Set<number> {
  const [header, ...rows] = readFileSync(join(outDir, 'requests.tsv'), 'utf8').trim().split('\n');
  const column = header!.split('\t').indexOf('length');
  return new Set(rows.map((row) => Number(row.split('\t')[column])));
}
