import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ScalingResult } from '../../src/tools/bench/scaling.js';
import { runCli, tempDir, writeIn } from './run-cli.js';

/** A machine under test is a busy one: plans must survive that. */
const PATIENT = ['--set', 'slo=20s'];

function simulated(dir: string): string[] {
  const profile = {
    name: 'small',
    gpu: 'none',
    runtime: 'none',
    precision: 'FP32',
    weightsBytes: 4_000_000,
    loadMs: 1,
    inputBytes: 4096,
    outputBytes: 40,
    batches: [
      { batch: 1, medianMs: 4 },
      { batch: 4, medianMs: 6 },
    ],
    source: { weights: 'made up', load: 'made up', copies: 'made up', batches: 'made up' },
  };
  return ['--device', `simulated:${writeIn(dir, 'small.json', JSON.stringify(profile))}`];
}

describe('bench --scaling', () => {
  it('measures fixed and growing work on emulated GPUs, and writes both', async () => {
    const dir = tempDir();
    const out = join(dir, 'out');
    const flags = ['--scaling', 'both', '--gpus', '2,1', '--trials', '2', '--duration', '0.5s', ...PATIENT];
    const { status, stdout, stderr } = await runCli([
      ...['bench', ...flags, ...simulated(dir), '--json', '--quiet', '--out', out],
    ]);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    const result = JSON.parse(stdout) as ScalingResult;
    expect(result).toMatchObject({
      name: 'small',
      device: { kind: 'simulated' },
      trials: 2,
      seconds: 0.5,
      inputBytes: 4096,
    });
    const [strong, weak] = result.runs;
    expect(strong.points).toMatchObject([
      { gpus: 1, models: 2, clients: 16, sloMs: 20_000 },
      { gpus: 2, models: 2, clients: 16 },
    ]);
    expect(weak.points).toMatchObject([
      { gpus: 1, models: 1, clients: 8 },
      { gpus: 2, models: 2, clients: 16 },
    ]);
    for (const { points } of [strong, weak]) {
      const [, two] = points;
      expect(points[0].efficiency).toEqual({ mean: 1, sd: 0 });
      expect(two.trialsRps).toHaveLength(2);
      const { busy, batches, device } = two.factors;
      expect(busy * batches * device).toBeCloseTo(two.efficiency.mean, 6);
      // An emulated GPU takes as long as its profile says.
      expect(device).toBeCloseTo(1, 3);
      expect(two.activity.execMin).toBeGreaterThan(0);
      expect(two.activity.execMean).toBeLessThanOrEqual(1);
      expect(two.activity.meanBatch).toBeLessThanOrEqual(4);
    }
    expect(JSON.parse(readFileSync(join(out, 'scaling.json'), 'utf8'))).toEqual(result);
  }, 60_000);

  it('prints a table in 80 columns; without tensors only the scheduler is left', async () => {
    const flags = ['--scaling', 'weak', '--gpus', '1,2', '--trials', '1', '--duration', '0.5s', ...PATIENT];
    const { status, stdout } = await runCli([
      ...['bench', ...flags, ...simulated(tempDir()), '--tensors', 'none'],
    ]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^no tensors; warm-up, then 1 trial of 0.5 s$/m);
    expect(stdout).toMatch(/^GPUs +requests\/s +efficiency +busy +batches +device +EXEC +batch +thread$/m);
    expect(stdout).toMatch(
      /^ {3}2 +[\d,.]+ +\d+ % +[\d.]+× +[\d.]+× +[\d.]+× +\d+\/\d+ % +[\d.]+ +\d+\/\d+ %$/m,
    );
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  }, 60_000);

  it.each([
    [['--scaling', 'weak', '--gpus', '2'], /--gpus 2: at least two numbers/],
    [['--scaling', 'weak', '--gpus', '1,1'], /--gpus 1,1: duplicate number/],
    [['--scaling', 'weak', '--gpus', '1,x'], /--gpus x: must be a whole number/],
    [['--scaling', 'weak', '--vary', 'policy.maxBatch=1,2'], /--vary cannot be combined with --scaling/],
    [['--scaling', 'weak', '--protocol', 'grpc'], /--protocol cannot be combined with --scaling/],
    [['--gpus', '1,2'], /--gpus requires --scaling/],
    [['--scaling', 'weak'], /nothing to measure: give --repository FOLDER, .* --device simulated:PROFILE/],
    [['--scaling', 'sideways'], /must be one of "strong", "weak", "both"/],
  ])('refuses %j', async (flags, message) => {
    const { status, stderr } = await runCli(['bench', ...flags]);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });
});
