import { expect, it } from 'vitest';
import { limitsChecks } from '../../src/doctor/limits.js';
import { CONTAINER, find, LAPTOP, limitsText, MAC, recordedHost, SERVER, statuses } from './hosts.js';

it.each([
  ['a server', SERVER, 'ok'],
  ['a laptop', LAPTOP, 'failed'],
  ['a container', CONTAINER, 'failed'],
  ['a Mac, which has no /proc', MAC, 'skipped'],
])('judges the limits of %s', (_, host, status) => {
  expect(statuses(limitsChecks(recordedHost(host)))).toEqual({
    'limits.open-files': status,
    'limits.locked-memory': status,
    'limits.realtime-priority': status,
    'limits.memory-maps': status,
  });
});

it.each([
  ['65534', 'failed', '65,534'],
  ['65535', 'ok', '65,535'],
  ['unlimited', 'ok', 'unlimited'],
])('takes a limit of %s open files as %s', (limit, status, found) => {
  const files = { '/proc/self/limits': limitsText(limit, 'unlimited', 'unlimited') };
  const checks = limitsChecks(recordedHost({ files }));
  expect(find(checks, 'limits.open-files')).toMatchObject({ status, found });
  expect(find(checks, 'limits.realtime-priority').status).toBe('ok');
});

it('mends limits for every user, root too, and says when that counts', () => {
  const { mend } = find(limitsChecks(recordedHost(LAPTOP)), 'limits.open-files');
  expect(mend).toEqual({
    commands: [
      "printf '%s\\n' '* - nofile 65535' 'root - nofile 65535' > /etc/security/limits.d/escapement-nofile.conf",
    ],
    asUser: false,
    lostAtReboot: false,
    note: 'counts from the next login; in this shell at once: sudo prlimit --pid $$ --nofile=65535:65535; in a unit of systemd: LimitNOFILE=65535',
  });
});

it.each<Record<string, string>>([{ container: 'lxc' }, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }])(
  'knows a container by %j, where no file tells',
  (env) => {
    const { mend } = find(limitsChecks(recordedHost({ ...LAPTOP, env })), 'limits.locked-memory');
    expect(mend?.note).toBe('start the container with --ulimit memlock=-1');
  },
);

it('names the flag of a container, where logins do not count', () => {
  const { mend } = find(limitsChecks(recordedHost(CONTAINER)), 'limits.locked-memory');
  expect(mend).toMatchObject({ commands: [], note: 'start the container with --ulimit memlock=-1' });
});

it('sets the number of memory maps now and for every start', () => {
  const { mend, requiredFor } = find(limitsChecks(recordedHost(LAPTOP)), 'limits.memory-maps');
  expect(requiredFor).toEqual(['worker']);
  expect(mend?.commands).toEqual([
    'sysctl -w vm.max_map_count=10000000',
    'echo vm.max_map_count=10000000 > /etc/sysctl.d/90-escapement.conf',
  ]);
});
