import { beforeAll, describe, expect, it, test } from 'vitest';
import type { DoctorReport } from '../../../src/tools/doctor/check.js';
import { type CliRun, runCli } from '../run-cli.js';

test.each([
  [['--role', 'cook'], /--role "cook": must be one of "worker", "controller", "client"/],
  [['--device', 'abacus'], /--device "abacus": must be one of "cpu",/],
  [['--memory', 'much'], /--memory much: must be a size/],
  [['--json', '--fix-script'], /--fix-script and --json/],
])('doctor %j is a usage error', async (args, message) => {
  const { status, stdout, stderr } = await runCli(['doctor', ...args]);
  expect(stderr).toMatch(/^escapement: E_USAGE: [^\n]+\n$/);
  expect(stderr).toMatch(message);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
});

describe('a worker on the CPU', () => {
  let json: CliRun;
  let report: DoctorReport;
  beforeAll(async () => {
    json = await runCli(['doctor', '--json', '--memory', '64MiB']);
    report = JSON.parse(json.stdout) as DoctorReport;
  });

  it('is reported as one JSON object', () => {
    expect(Object.keys(report)).toEqual([
      'role',
      'device',
      'cacheBytes',
      'container',
      'ok',
      'totals',
      'checks',
    ]);
    expect(report).toMatchObject({ role: 'worker', device: 'cpu', cacheBytes: 64 * 2 ** 20 });
    for (const check of report.checks) {
      expect(Object.keys(check)).toEqual([
        'id',
        'title',
        'status',
        'requiredFor',
        'found',
        'wanted',
        'why',
        'fix',
        'required',
      ]);
    }
  });

  it('is found to run models', () => {
    const check = report.checks.find(({ id }) => id === 'runtime.provider.cpu');
    expect(check).toMatchObject({ status: 'ok', required: true });
  });

  it('has an exit status by its required checks', () => {
    const failed = report.checks.filter(({ required, status }) => required && status === 'failed');
    expect(report.ok).toBe(failed.length === 0);
    expect(json.status).toBe(report.ok ? 0 : 6);
    if (!report.ok)
      expect(json.stderr).toMatch(/^escapement: E_DOCTOR: \d+ required checks? failed: [^\n]+\n$/);
  });
});

test('a client needs less, and no GPUs', async () => {
  const { stdout } = await runCli(['doctor', '--role', 'client']);
  expect(stdout).toMatch(/^client\b/);
  expect(stdout).toMatch(/\n\d+ of \d+ required checks failed; /);
  expect(stdout).not.toContain('\nGPUs\n');
});
