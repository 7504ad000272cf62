import { expect, it } from 'vitest';
import { CONTAINER, find, LAPTOP, MAC, read, SERVER, statuses } from './hosts.js';

const CPU = '/sys/devices/system/cpu';

it.each([
  ['a server', SERVER, 'ok'],
  ['a laptop', LAPTOP, 'failed'],
  ['a container', CONTAINER, 'skipped'],
  ['a Mac', MAC, 'skipped'],
])('judges the processor of %s', (_, host, status) => {
  expect(statuses(read(host), 'cpu.')).toEqual({
    'cpu.governor': status,
    'cpu.huge-pages': status,
    'cpu.smt': status,
  });
});

it('says why it cannot tell', () => {
  const found = (host: object) => find(read(host), 'cpu.governor').found;
  expect(found(CONTAINER)).toBe('/sys is not visible in the container');
  expect(found(MAC)).toBe('unknown on darwin');
  expect(found({ files: { [`${CPU}/cpu0/online`]: '1' } })).toBe('no governor, as usual in virtual machines');
});

it('counts processors that differ', () => {
  const files = {
    [`${CPU}/cpu0/cpufreq/scaling_governor`]: 'performance\n',
    [`${CPU}/cpu1/cpufreq/scaling_governor`]: 'schedutil\n',
    [`${CPU}/cpu2/cpufreq/scaling_governor`]: 'schedutil\n',
  };
  expect(find(read({ files }), 'cpu.governor')).toMatchObject({
    status: 'failed',
    found: 'performance ×1, schedutil ×2',
  });
});

it('makes settings last where systemd applies them at the start, and says so where nothing does', () => {
  const path = `${CPU}/cpu*/cpufreq/scaling_governor`;
  const fix = (host: object) => find(read(host), 'cpu.governor').fix;
  expect(fix(LAPTOP)).toEqual({
    commands: [
      `echo 'w ${path} - - - - performance' > /etc/tmpfiles.d/escapement-governor.conf`,
      'systemd-tmpfiles --create /etc/tmpfiles.d/escapement-governor.conf',
    ],
    asUser: false,
    lostAtReboot: false,
  });
  const { '/run/systemd/system/x': _, ...files } = LAPTOP.files;
  expect(fix({ files })).toEqual({
    commands: [`echo performance | tee ${path} > /dev/null`],
    asUser: false,
    lostAtReboot: true,
  });
});

it('keeps of a setting that is well what a reboot undoes, and only that', () => {
  const { '/run/systemd/system/x': _, ...files } = SERVER.files;
  const fixes = (host: object) =>
    read(host)
      .filter(({ id }) => id.startsWith('cpu.'))
      .map(({ fix }) => fix?.lostAtReboot);
  expect(fixes(SERVER)).toEqual([undefined, undefined, undefined]);
  expect(fixes({ files })).toEqual([true, true, true]);
});

it.each([
  ['forceoff', 'ok', 'forceoff'],
  ['notsupported', 'ok', 'the CPU has none'],
  ['notimplemented', 'skipped', 'the kernel does not report it'],
])('takes SMT %s as %s', (control, status, found) => {
  const files = { [`${CPU}/smt/control`]: `${control}\n` };
  expect(find(read({ files }), 'cpu.smt')).toMatchObject({ status, found });
});
