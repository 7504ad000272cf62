import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import type { Check } from '../../../src/tools/doctor/check.js';
import { fixScript, reportText } from '../../../src/tools/doctor/text.js';
import { LAPTOP } from './hosts.js';
import { PERSISTENCE, reportOf } from './reports.js';

const PLAIN = { columns: 80, colour: false };

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
    '\n    your shell   export LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=background_thread:true,',
  );
  expect(text).toContain('\n  ✘ Simultaneous multithreading (SMT) (advice): on\n');
  expect(text).toContain(`
GPUs
  ✘ Persistence mode: Disabled
    wanted       Enabled
    why          Otherwise the driver forgets its settings.
    as root      nvidia-smi -i 0 -pm 1
    note         lost at the next reboot
`);
  expect(text).toMatch(/\n6 of 6 required checks failed; 1 of 1 recommendations not followed; /);
});

it('prints the commands as a script: required ones to run, advice commented out, findings in comments alone', () => {
  const forged: Check = { ...PERSISTENCE, id: 'gpu.forged', found: 'Disabled\nrm -rf /' };
  const script = fixScript(reportOf(LAPTOP, PERSISTENCE, forged));
  expect(spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });
  const lines = script.split('\n');
  expect(lines).toContain('sysctl -w vm.max_map_count=10000000');
  expect(lines).toContain('nvidia-smi -i 0 -pm 1');
  expect(lines).toContain(
    '# Persistence mode: found Disabled, wanted Enabled; as root; lost at the next reboot',
  );
  expect(lines.filter((line) => line.includes('rm -rf /'))).toEqual([
    expect.stringMatching(/^# Persistence mode: found Disabled rm -rf \//),
  ]);
  const smt = lines.findIndex((line) => line.startsWith('# Simultaneous multithreading (SMT) (advice): '));
  expect(lines[smt + 1]).toMatch(/^# /);
});
