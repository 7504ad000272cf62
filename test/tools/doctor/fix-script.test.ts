import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fixScript } from '../../../src/tools/doctor/text.js';
import { LAPTOP, type Recorded, SERVER } from './hosts.js';
import { PERSISTENCE, reportOf } from './reports.js';

const dir = mkdtempSync(join(tmpdir(), 'escapement-fix-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let runs = 0;

/** Runs a script with commands that write down how they were called, in a folder that stands for the machine. */
function run(
  script: string,
  { uid = '0', ...env }: Record<string, string> = {},
  bodies: Record<string, string> = {},
) {
  const root = join(dir, String(runs++));
  for (const folder of [
    'etc/security/limits.d',
    'etc/sysctl.d',
    'etc/tmpfiles.d',
    'sys/devices/system/cpu/cpu0/cpufreq',
    'bin',
    'home',
  ]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  writeFileSync(join(root, 'sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'), 'powersave\n');
  const calls = join(root, 'calls');
  for (const name of ['sysctl', 'systemd-tmpfiles', 'systemctl', 'nvidia-smi']) {
    stub(join(root, 'bin', name), bodies[name] ?? `echo "${name} $*" >> '${calls}'`);
  }
  stub(join(root, 'bin', 'id'), `echo ${uid}`);
  const moved = script.replaceAll(/(?<= )\/(?=(etc|sys)\/)/g, `${root}/`);
  const again = () =>
    spawnSync('sh', ['-c', moved], {
      encoding: 'utf8',
      env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, HOME: join(root, 'home'), ...env },
    });
  const first = again();
  const read = (path: string) =>
    existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8').replaceAll(`${root}/`, '/') : null;
  return { ...first, read, again };
}

function stub(path: string, body: string): void {
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
}

describe('the script', () => {
  const script = fixScript(reportOf(LAPTOP, PERSISTENCE));

  it.each(['bash', 'sh'])('is understood by %s', (shell) => {
    const { status, stderr } = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('gives the reason before each command', () => {
    expect(script).toContain(`
  # Memory maps (vm.max_map_count): found 65,530; wanted at least 10,000,000.
  # Each large tensor of a loaded model takes one map; at the limit, allocations fail although
  # memory is free.
  sysctl -w vm.max_map_count=10000000 || failed 'sysctl -w vm.max_map_count=10000000'
`);
  });

  it('sets up the machine as root, and the environment', () => {
    const { status, stderr, stdout, read } = run(script);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(read('calls')).toBe(
      [
        'sysctl -w vm.max_map_count=10000000',
        'systemd-tmpfiles --create /etc/tmpfiles.d/escapement-governor.conf',
        'systemd-tmpfiles --create /etc/tmpfiles.d/escapement-huge-pages.conf',
        'nvidia-smi -i 0 -pm 1',
        '',
      ].join('\n'),
    );
    expect(read('etc/security/limits.d/escapement-nofile.conf')).toBe(
      '* - nofile 65535\nroot - nofile 65535\n',
    );
    expect(read('etc/sysctl.d/90-escapement.conf')).toBe('vm.max_map_count=10000000\n');
    expect(read('etc/tmpfiles.d/escapement-huge-pages.conf')).toBe(
      'w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n',
    );
    expect(read('home/.profile')).toBe('export MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=0\n');
    expect(stdout).toContain('Lost at every reboot unless set at boot: GPU 0: persistence mode.');
    // Advice is not followed unless that is asked for.
    expect(read('etc/security/limits.d/escapement-memlock.conf')).toBeNull();
    expect(read('calls')).not.toContain('systemctl');
  });

  it('changes nothing the second time', () => {
    const { again, read } = run(script);
    const paths = [
      'etc/security/limits.d/escapement-nofile.conf',
      'etc/sysctl.d/90-escapement.conf',
      'home/.profile',
    ];
    const before = paths.map(read);
    expect(again().status).toBe(0);
    expect(paths.map(read)).toEqual(before);
  });

  it('follows advice when asked', () => {
    const { status, read } = run(script, { ADVICE: 'yes' });
    expect(status).toBe(0);
    expect(read('etc/security/limits.d/escapement-memlock.conf')).toContain('root - memlock unlimited\n');
    expect(read('calls')).toContain('systemctl set-property system.slice AllowedCPUs=0-1\n');
  });

  it('leaves the machine alone for a user that is not root', () => {
    const { status, stderr, read } = run(script, { uid: '1000' });
    expect(status).toBe(0);
    expect(stderr).toContain('Not root');
    expect(read('calls')).toBeNull();
    expect(read('home/.profile')).toContain('export MALLOC_');
  });

  it('goes on after a command that is refused, names it, and ends with status 1', () => {
    const { status, stdout, stderr, read } = run(script, {}, { sysctl: 'echo no; exit 255' });
    expect(status).toBe(1);
    expect(stderr).toBe('Failed: sysctl -w vm.max_map_count=10000000\nFailed commands: 1 (see above).\n');
    expect(stdout).not.toContain('No command failed.');
    expect(read('etc/sysctl.d/90-escapement.conf')).toBe('vm.max_map_count=10000000\n');
    expect(read('calls')).toContain('nvidia-smi -i 0 -pm 1');
    expect(read('home/.profile')).toContain('export MALLOC_');
  });

  it("leaves root's environment alone under sudo", () => {
    const { status, stderr, read } = run(script, { SUDO_USER: 'ada' });
    expect(status).toBe(0);
    expect(stderr).toContain('without sudo for the settings of ada');
    expect(read('home/.profile')).toBeNull();
  });
});

it('does nothing where nothing failed', () => {
  const script = fixScript(reportOf(SERVER));
  expect(script.split('\n').filter((line) => !/^(#.*)?$/.test(line))).toEqual(['set -u']);
});

it('lets no text of the machine out of its comment', () => {
  const files = {
    '/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor': "slow\ntouch '$HOME/pwned'\r`reboot`",
  };
  const odd: Recorded = { files };
  const { status, stderr, read } = run(fixScript(reportOf(odd)));
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(read('sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')).toBe('performance\n');
  expect(read('home/pwned')).toBeNull();
});
