import { expect, it } from 'vitest';
import { processorChecks } from '../../src/doctor/processor.js';
import { CONTAINER, find, LAPTOP, MAC, recordedHost, SERVER, statuses } from './hosts.js';

const CPU = '/sys/devices/system/cpu';

it.each([
  ['a server', SERVER, 'ok'],
  ['a laptop', LAPTOP, 'failed'],
  ['a container', CONTAINER, 'skipped'],
  ['a Mac', MAC, 'skipped'],
])('judges the processor of %s', (_, host, status) => {
  expect(statuses(processorChecks(recordedHost(host)))).toEqual({
    'processor.governor': status,
    'processor.huge-pages': status,
    'processor.smt': status,
    'processor.isolated': status,
  });
});

it('says why it cannot tell', () => {
  const found = (host: object) => find(processorChecks(recordedHost(host)), 'processor.governor').found;
  expect(found(CONTAINER)).toBe('the container does not show /sys');
  expect(found(MAC)).toBe('cannot be found out on darwin');
  expect(found({ files: { [`${CPU}/cpu0/online`]: '1' } })).toBe('no governor, as in virtual machines');
});

it('counts processors that differ', () => {
  const files = {
    [`${CPU}/cpu0/cpufreq/scaling_governor`]: 'performance\n',
    [`${CPU}/cpu1/cpufreq/scaling_governor`]: 'schedutil\n',
    [`${CPU}/cpu2/cpufreq/scaling_governor`]: 'schedutil\n',
  };
  expect(find(processorChecks(recordedHost({ files })), 'processor.governor')).toMatchObject({
    status: 'failed',
    found: 'performance ×1, schedutil ×2',
  });
});

it('makes settings last where systemd applies them at the start, and says so where nothing does', () => {
  const path = `${CPU}/cpu*/cpufreq/scaling_governor`;
  const mend = (host: object) => find(processorChecks(recordedHost(host)), 'processor.governor').mend;
  expect(mend(LAPTOP)).toEqual({
    commands: [
      `echo 'w ${path} - - - - performance' > /etc/tmpfiles.d/escapement-governor.conf`,
      'systemd-tmpfiles --create /etc/tmpfiles.d/escapement-governor.conf',
    ],
    asUser: false,
    lostAtReboot: false,
  });
  const { '/run/systemd/system/x': _, ...files } = LAPTOP.files;
  expect(mend({ files })).toEqual({
    commands: [`for file in ${path}; do echo performance > "$file"; done`],
    asUser: false,
    lostAtReboot: true,
  });
});

it.each([
  ['forceoff', 'ok', 'forceoff'],
  ['notsupported', 'ok', 'the processor has none'],
  ['notimplemented', 'skipped', 'the kernel does not tell'],
])('takes SMT %s as %s', (control, status, found) => {
  const files = { [`${CPU}/smt/control`]: `${control}\n` };
  expect(find(processorChecks(recordedHost({ files })), 'processor.smt')).toMatchObject({ status, found });
});

it('isolates all processors but two, by the boot loader where it knows how', () => {
  const kernel = 'isolcpus=2-7 nohz_full=2-7 rcu_nocbs=2-7';
  const isolated = (host: object) => find(processorChecks(recordedHost(host)), 'processor.isolated');
  expect(isolated(LAPTOP).mend?.commands).toEqual([
    `echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX ${kernel}"' > /etc/default/grub.d/escapement.cfg`,
    'update-grub',
  ]);
  const { '/etc/default/grub.d/x.cfg': _, ...files } = LAPTOP.files;
  expect(isolated({ files }).mend).toMatchObject({ commands: [], note: expect.stringContaining(kernel) });
  const two = { [`${CPU}/cpu0/online`]: '1', [`${CPU}/cpu1/online`]: '1', [`${CPU}/isolated`]: '\n' };
  expect(isolated({ files: two })).toMatchObject({
    status: 'skipped',
    found: '2 are too few to set some aside',
  });
});
