import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkRun } from '../../src/audit/check-run.js';
import { parseExperiment } from '../../src/config/load.js';
import type { ScheduledRun } from '../../src/record/results.js';
import { simulate } from '../../src/run/simulated.js';
import { runCli, tempDir } from '../cli/run-cli.js';

const EXPERIMENT = `
models: { kind: zoo, varieties: 2 }
classes: [{ name: bronze }, { name: gold, weight: 3 }]
cluster: { pages: 60, failures: [{ gpu: 0, at: 3s, for: 200ms }] }
pipelines:
  - name: crops
    steps:
      - { id: detect, model: resnet50 }
      - { id: crop, model: mobilenetv2_100, after: detect, fanOut: { kind: uniform, to: 6 } }
      - id: face
        variants: [{ model: mobilenetv2_100, accuracy: 70% }, { model: resnet50, accuracy: 90% }]
        after: detect
        fanOut: 2
        probability: 40%
      - id: join
        variants: [{ model: mobilenetv2_100, accuracy: 95% }]
        after: [crop, face]
        probability: 70%
      - { id: mark, model: resnet50, after: join, probability: 50% }
      - { id: sum, model: mobilenetv2_100, after: [face, mark] }
  - { name: alone, split: equal, steps: [{ model: resnet50, probability: 90% }] }
workload:
  - { name: chains, kind: gamma, cv: 3, load: 110%, duration: 5s, class: gold, models: crops }
  - { name: rest, kind: poisson, rate: 20/s, duration: 5s, models: [alone, 'resnet50'] }
slo: 60ms
warmup: 1s
policy: { kind: edf }
`;

describe('a run with pipelines', () => {
  const dir = tempDir();
  let run: ScheduledRun;

  beforeAll(async () => {
    run = await simulate(await parseExperiment(EXPERIMENT, 'pipelines.yaml'), { outDir: dir });
    writeFileSync(join(dir, 'run.json'), JSON.stringify(run));
  });

  /** Rules that are broken and figures that are wrong once a cell of the first row that fits has another value. */
  function after(fits: (row: Record<string, string>) => boolean, change: Record<string, string>): string[] {
    const path = join(dir, 'requests.tsv');
    const text = readFileSync(path, 'utf8');
    const [head, ...lines] = text.split('\n');
    const columns = head!.split('\t');
    const rows = lines.map((line) =>
      Object.fromEntries(line.split('\t').map((cell, i) => [columns[i], cell])),
    );
    const row = rows.findIndex(fits);
    lines[row] = columns.map((column) => change[column] ?? rows[row]![column]).join('\t');
    writeFileSync(path, [head, ...lines].join('\n'));
    const { rules, claims } = checkRun(dir, { slackNs: 0 });
    writeFileSync(path, text);
    return [
      ...rules.flatMap(({ rule, violations }) => (violations > 0 ? rule : [])),
      ...claims.flatMap(({ figure, ok }) => (ok ? [] : figure)),
    ];
  }

  it('has its claims recomputed from its logs', () => {
    const { claims, ok, rules } = checkRun(dir, { slackNs: 0 });
    expect(claims.filter((claim) => !claim.ok)).toEqual([]);
    expect(ok).toBe(true);
    expect(rules.find(({ rule }) => rule === 'pipeline')!.checked).toBeGreaterThan(1000);
    const figures = claims.map(({ figure }) => figure);
    expect(figures).toContain('pipeline crops: ok');
    expect(figures).toContain('step crops.face: attainment');
    // Some with each variant, and some pipelines without the step.
    for (const figure of [
      'accuracy',
      'accurateAttainment',
      'pipeline crops: accuracy',
      'step crops.face: accuracy',
    ])
      expect(figures).toContain(figure);
    const { accuracy } = run.summary.by.step!.find(({ key }) => key === 'crops.face')!;
    expect(accuracy).toBeGreaterThan(0.71);
    expect(accuracy).toBeLessThan(0.89);
    // Each way to end is there.
    const { requests, failures } = run.summary.by.pipeline![0]!;
    expect([requests.ok, failures!.refused, failures!.restTooLong].every((count) => count > 0)).toBe(true);
  });

  it.each([
    ['a step that began at another time', { step_id: '1', result: '0' }, { latency: '1' }, 'pipeline'],
    [
      'a pipeline that ended without a step',
      { model_id: '2', result: '0' },
      { request_id: '999999' },
      'pipeline',
    ],
    [
      'a failed step of a pipeline that is executed',
      { step_id: '3', result: '0' },
      { result: '4', deadline_met: '0' },
      'pipeline',
    ],
    ['a model that is no variant', { step_id: '1' }, { model_id: '0' }, 'pipeline'],
    [
      'another variant',
      { step_id: '2', deadline_met: '1', model_id: '1' },
      { model_id: '0' },
      'step crops.face: accuracy',
    ],
    [
      'a pipeline that failed at another step',
      { model_id: '2', step_id: '1' },
      { step_id: '2' },
      'step crops.crop: failedHere',
    ],
    ['another cause', { model_id: '2', cause: '9' }, { cause: '3' }, 'failures restTooLong'],
    ['a step taken for a request of its own', { step_id: '1', cause: '-1' }, { parent_id: '-1' }, 'offered'],
  ])('is caught with %s', (_name, wanted, change, broken) => {
    const fits = (row: Record<string, string>) =>
      Number(row.t) > 2e9 && Object.entries(wanted).every(([column, value]) => row[column] === value);
    expect(after(fits, change)).toContain(broken);
  });

  /** Ids of the pipelines' requests of the first step requests with this value in a column. */
  function parentsOf(column: string, value: string): string[] {
    const [head, ...lines] = readFileSync(join(dir, 'requests.tsv'), 'utf8').split('\n');
    const [found, parent] = [column, 'parent_id'].map((name) => head!.split('\t').indexOf(name));
    const isOne = (cells: readonly string[]) => cells[found!] === value && cells[parent!] !== '-1';
    const rows = lines.map((line) => line.split('\t')).filter(isOne);
    return rows.slice(0, 10).map((cells) => cells[parent!]!);
  }

  it('has a story of each request over its steps', async () => {
    const { stdout: list } = await runCli(['explain', dir, '--cause', 'restTooLong', '--json']);
    const [{ request }] = JSON.parse(list).requests;
    const { stdout } = await runCli(['explain', dir, '--request', String(request)]);
    expect(stdout).toMatch(/^request \d+ for pipeline crops\n/);
    expect(stdout).toMatch(/detect ended: request \d+, (ok|late)\n/);
    const { stdout: faces } = await runCli([
      'explain',
      dir,
      '--request',
      parentsOf('step_id', '2')[0]!,
      '--json',
    ]);
    expect(JSON.parse(faces).steps.find(({ step }: { step: string }) => step === 'face').model).toMatch(
      /^(mobilenetv2_100|resnet50)$/,
    );
    expect(stdout).toMatch(/(crop|face|join|mark|sum) (did not begin, with|failed\n)/);
    // Of requests withdrawn since another failed, the other is to blame.
    for (const request of parentsOf('result', '8')) {
      const { stdout: blame } = await runCli(['explain', dir, '--request', request]);
      const [, blamed] = blame.match(/why\n {2}request (\d+) of \w+ failed/)!;
      expect(blame).toContain(`ended: request ${blamed}, rejected\n`);
    }
  });
});
