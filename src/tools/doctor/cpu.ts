import type { Check, Fix } from './check.js';
import { type Host, hasSystemd, isContainer } from './host.js';
import { advise, checked, type Question, skipped, sysfsFix } from './verdict.js';

const CPUS = '/sys/devices/system/cpu';
const GOVERNOR = 'cpufreq/scaling_governor';
const HUGE_PAGES = '/sys/kernel/mm/transparent_hugepage/enabled';
/** Processors of all services of systemd, where that limits them. */
const SERVICES = '/sys/fs/cgroup/system.slice/cpuset.cpus';
/** With fewer, setting some aside would leave too little to the rest of the machine. */
const FEWEST_TO_ISOLATE = 4;
/** Processors that keep doing everything else. */
const SHARED = 2;

/** Whether cores run at one speed and do nothing else. */
export function cpuChecks(host: Host): Check[] {
  return [governor(host), hugePages(host), multithreading(host), isolation(host)];
}

function governor(host: Host): Check {
  const question: Question = {
    id: 'cpu.governor',
    title: 'Frequency governor',
    requiredFor: ['worker'],
    wanted: 'performance on every core',
    why: 'A core that slows down while idle runs the next INFER slower than its profile says.',
  };
  const governors = cores(host)
    .map((cpu) => host.read(`${CPUS}/${cpu}/${GOVERNOR}`)?.trim())
    .filter((name) => name !== undefined);
  if (governors.length === 0)
    return skipped(question, absent(host, 'no governor, as usual in virtual machines'));
  const ok = governors.every((name) => name === 'performance');
  const found = [...new Set(governors)].map(
    (name) => `${name} ×${governors.filter((n) => n === name).length}`,
  );
  const fix = sysfsFix(host, 'governor', `${CPUS}/cpu*/${GOVERNOR}`, 'performance');
  return checked(question, ok, found.join(', '), fix);
}

function hugePages(host: Host): Check {
  const question: Question = {
    id: 'cpu.huge-pages',
    title: 'Transparent huge pages',
    requiredFor: ['worker'],
    wanted: 'madvise or never',
    why: 'With always, the kernel stops threads for milliseconds to find and clear 2 MiB pages.',
  };
  const setting = /\[(\w+)\]/.exec(host.read(HUGE_PAGES) ?? '')?.[1];
  if (setting === undefined) return skipped(question, absent(host, 'this kernel has none'));
  return checked(
    question,
    setting !== 'always',
    setting,
    sysfsFix(host, 'huge-pages', HUGE_PAGES, 'madvise'),
  );
}

function multithreading(host: Host): Check {
  const question: Question = {
    id: 'cpu.smt',
    title: 'Simultaneous multithreading (SMT)',
    requiredFor: [],
    wanted: 'off',
    why: 'Two threads on one core slow each other down, by an amount that varies.',
  };
  const control = host.read(`${CPUS}/smt/control`)?.trim();
  if (control === undefined) return skipped(question, absent(host, 'the kernel does not report it'));
  if (control === 'notimplemented') return skipped(question, 'the kernel does not report it');
  if (control === 'notsupported') return checked(question, true, 'the CPU has none');
  return checked(question, control !== 'on', control, sysfsFix(host, 'smt', `${CPUS}/smt/control`, 'off'));
}

function isolation(host: Host): Check {
  const question: Question = {
    id: 'cpu.isolated',
    title: 'Isolated cores',
    requiredFor: [],
    wanted: 'some reserved for a worker',
    why: 'On other cores any process or interrupt may run in the middle of an INFER.',
  };
  const isolated = host.read(`${CPUS}/isolated`)?.trim();
  if (isolated === undefined) return skipped(question, absent(host, 'the kernel does not report it'));
  const count = cores(host).length;
  const shared = host.read(SERVICES)?.trim() ?? '';
  const kept = shared === '' || shared === `0-${count - 1}` ? '' : `services keep to ${shared}`;
  const found = [isolated, kept].filter((part) => part !== '').join('; ');
  if (found === '' && count < FEWEST_TO_ISOLATE) {
    return skipped(question, `${count} cores are too few to isolate some`);
  }
  return checked(question, found !== '', found === '' ? 'none' : found, isolationFix(host, count));
}

/**
 * Not isolcpus: the kernel never moves a thread between cores isolated that way, so that all threads of a worker would
 * share the first of them (https://docs.kernel.org/admin-guide/kernel-parameters.html).
 */
function isolationFix(host: Host, count: number): Fix {
  const shared = `0-${SHARED - 1}`;
  const own = `${SHARED}-${count - 1}`;
  if (!hasSystemd(host)) {
    return advise(
      `keep everything else on cores ${shared} with a cpuset, and start with: taskset -c ${own} escapement worker …`,
    );
  }
  return {
    commands: ['init.scope', 'system.slice', 'user.slice'].map(
      (unit) => `systemctl set-property ${unit} AllowedCPUs=${shared}`,
    ),
    asUser: false,
    lostAtReboot: false,
    note: `cores ${own} are then free for: sudo systemd-run --pty --same-dir --uid=$USER --slice=escapement escapement worker …`,
  };
}

function cores(host: Host): string[] {
  return host.list(CPUS).filter((name) => /^cpu\d+$/.test(name));
}

/** Why a file of /sys is not there. */
function absent(host: Host, otherwise: string): string {
  if (host.platform !== 'linux') return `unknown on ${host.platform}`;
  return isContainer(host) && host.list(CPUS).length === 0
    ? '/sys is not visible in the container'
    : otherwise;
}
