import { expect, it } from 'vitest';
import type { Check } from '../../../src/tools/doctor/check.js';
import { fixScript, reportText } from '../../../src/tools/doctor/text.js';
import { LAPTOP, SERVER } from './hosts.js';
import { PERSISTENCE, reportOf } from './reports.js';

const PLAIN = { columns: 80, colour: false };

it('shows one line for a check that passed', () => {
  expect(reportText(reportOf(SERVER), PLAIN)).toBe(`worker on cpu

Limits
  ✔ Open files: 1,048,576
  ✔ Locked memory: unlimited
  ✔ Real-time priority: 99
  ✔ Memory maps (vm.max_map_count): 10,000,000

Environment
  ✔ Allocator returns memory: MALLOC_MMAP_THRESHOLD_=131072
    MALLOC_TRIM_THRESHOLD_=0
  ✔ CUDA does not cache compiled kernels on disk: CUDA_CACHE_DISABLE=1
  ✔ CUDA uses precompiled kernels: CUDA_FORCE_PTX_JIT is not set

CPU
  ✔ Frequency governor: performance ×16
  ✔ Transparent huge pages: madvise
  ✔ Simultaneous multithreading (SMT): off

0 of 6 required checks failed; 0 of 4 recommendations not followed; 0 skipped.
`);
});

it('shows what is wanted, why, and the commands for a failed check', () => {
  const text = reportText(reportOf(LAPTOP, PERSISTENCE), PLAIN);
  expect(text).toContain(`
  ✘ Memory maps (vm.max_map_count): 65,530
    wanted       at least 10,000,000
    why          Each large tensor of a loaded model takes one map; at the
                 limit, allocations fail although memory is free.
    as root      sysctl -w vm.max_map_count=10000000
                 echo vm.max_map_count=10000000 > /etc/sysctl.d/90-escapement.conf
`);
  expect(text).toContain(
    '\n    your shell   export MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=0\n',
  );
  expect(text).toContain('\n  ✘ Simultaneous multithreading (SMT) (advice): on\n');
  expect(text).toContain(`
GPUs
  ✘ GPU 0: persistence mode: Disabled
    wanted       Enabled
    why          Otherwise the driver forgets its settings.
    as root      nvidia-smi -i 0 -pm 1
    note         lost at the next reboot
`);
  expect(text).toMatch(/\n6 of 6 required checks failed; 3 of 3 recommendations not followed; /);
  expect(text).toContain('\nLost at every reboot unless set at boot: GPU 0: persistence mode.\n');
});

it('shows what came out alike on several GPUs once, with the commands of all', () => {
  const of = (gpu: number, more: Partial<Check> = {}): Check => ({
    ...PERSISTENCE,
    id: `gpu.${gpu}.persistence`,
    title: `GPU ${gpu} persistence mode`,
    fix: { commands: [`nvidia-smi -i ${gpu} -pm 1`], asUser: false, lostAtReboot: true },
    ...more,
  });
  // What is asked of each GPU stays together.
  const ECC = of(0, { id: 'gpu.0.ecc', title: 'GPU 0 ECC', status: 'ok', found: 'off', fix: null });
  const on = { status: 'ok', found: 'Enabled' } as const;
  const text = reportText(reportOf(SERVER, of(0), ECC, of(1, on), of(2), of(3), of(4, on)), PLAIN);
  expect(text).toContain(`
GPUs
  ✘ GPUs 0, 2-3 persistence mode: Disabled
    wanted       Enabled
    why          Otherwise the driver forgets its settings.
    as root      nvidia-smi -i 0 -pm 1
                 nvidia-smi -i 2 -pm 1
                 nvidia-smi -i 3 -pm 1
    note         lost at the next reboot
  ✔ GPUs 1, 4 persistence mode: Enabled
  ✔ GPU 0 ECC: off

3 of 12 required checks failed;`);
  expect(text.replaceAll('\n', ' ')).toContain('at boot: GPUs 0-4 persistence mode. ');
});

it('breaks everything but commands at the width', () => {
  for (const columns of [80, 110]) {
    const long = reportText(reportOf(LAPTOP, PERSISTENCE), { columns, colour: false })
      .split('\n')
      .filter((line) => line.length > columns);
    expect(long.filter((line) => !/\/etc\/|export /.test(line))).toEqual([]);
  }
});

it('colours marks only, and only where asked', () => {
  const plain = reportText(reportOf(LAPTOP), PLAIN);
  const coloured = reportText(reportOf(LAPTOP), { columns: 80, colour: true });
  const ESC = String.fromCharCode(27);
  expect(plain).not.toContain(ESC);
  expect(coloured).toContain(`${ESC}[31m✘${ESC}[39m Open files`);
  expect(coloured).toContain(`${ESC}[33m✘${ESC}[39m Locked memory`);
  expect(coloured.replaceAll(new RegExp(`${ESC}\\[\\d+m`, 'g'), '')).toBe(plain);
});

it('prints the commands as a script: required ones to run, advice commented out, findings in comments alone', () => {
  const forged: Check = { ...PERSISTENCE, id: 'gpu.1.persistence', found: 'Disabled\nrm -rf /' };
  const lines = fixScript(reportOf(LAPTOP, PERSISTENCE, forged)).split('\n');
  expect(lines).toContain('sysctl -w vm.max_map_count=10000000');
  expect(lines).toContain('nvidia-smi -i 0 -pm 1');
  expect(lines).toContain(
    '# GPU 0: persistence mode: found Disabled, wanted Enabled; as root; lost at the next reboot',
  );
  expect(lines.filter((line) => line.includes('rm -rf /'))).toEqual([
    expect.stringMatching(/^# GPU 0.*found Disabled rm -rf \//),
  ]);
  const smt = lines.findIndex((line) => line.startsWith('# Simultaneous multithreading (SMT) (advice): '));
  expect(lines[smt + 1]).toMatch(/^# /);
});
