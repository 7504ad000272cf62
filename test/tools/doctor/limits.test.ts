import { expect, it } from 'vitest';
import { CONTAINER, find, LAPTOP, limitsText, MAC, read, SERVER, statuses } from './hosts.js';

it.each([
  ['a server', SERVER, 'ok'],
  ['a laptop', LAPTOP, 'failed'],
  ['a container', CONTAINER, 'failed'],
  ['a Mac, which has no /proc', MAC, 'skipped'],
])('judges the limits of %s', (_, host, status) => {
  expect(statuses(read(host), 'limits.')).toMatchObject({
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
  const checks = read({ files });
  expect(find(checks, 'limits.open-files')).toMatchObject({ status, found });
  expect(find(checks, 'limits.realtime-priority').status).toBe('ok');
});

it('fixes limits for every user, root too, and says when that counts', () => {
  const { fix } = find(read(LAPTOP), 'limits.open-files');
  expect(fix).toEqual({
    commands: [
      "printf '%s\\n' '* - nofile 65535' 'root - nofile 65535' > /etc/security/limits.d/escapement-nofile.conf",
    ],
    asUser: false,
    lostAtReboot: false,
    note: 'takes effect at the next login; in this shell at once: sudo prlimit --pid $$ --nofile=65535:65535; in a systemd unit: LimitNOFILE=65535',
  });
});

it.each<Record<string, string>>([{ container: 'lxc' }, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }])(
  'knows a container by %j, where no file tells',
  (env) => {
    const { fix } = find(read({ ...LAPTOP, env }), 'limits.locked-memory');
    expect(fix?.note).toBe('start the container with --ulimit memlock=-1');
  },
);

it('names the flag of a container, where logins do not count', () => {
  const { fix } = find(read(CONTAINER), 'limits.locked-memory');
  expect(fix).toMatchObject({ commands: [], note: 'start the container with --ulimit memlock=-1' });
});

it('sets the number of memory maps now and for every start', () => {
  const { fix, requiredFor } = find(read(LAPTOP), 'limits.memory-maps');
  expect(requiredFor).toEqual(['worker']);
  expect(fix?.commands).toEqual([
    'sysctl -w vm.max_map_count=10000000',
    'echo vm.max_map_count=10000000 > /etc/sysctl.d/90-escapement.conf',
  ]);
});
