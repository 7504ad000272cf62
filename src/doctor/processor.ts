import type { Check, Mend } from './check.js';
import { type Host, hasSystemd, isContainer } from './host.js';
import { advise, judged, type Question, skipped, sysfsMend } from './verdict.js';

const CPUS = '/sys/devices/system/cpu';
const GOVERNOR = 'cpufreq/scaling_governor';
const HUGE_PAGES = '/sys/kernel/mm/transparent_hugepage/enabled';
/** Processors of all services of systemd, where that limits them. */
const SERVICES = '/sys/fs/cgroup/system.slice/cpuset.cpus';
/** With fewer, setting some aside would leave too little to the rest of the machine. */
const FEWEST_TO_ISOLATE = 4;
/** Processors that keep doing everything else. */
const SHARED = 2;

/** Whether processors run at one speed and do nothing else. */
export function processorChecks(host: Host): Check[] {
  return [governor(host), hugePages(host), multithreading(host), isolation(host)];
}

function governor(host: Host): Check {
  const question: Question = {
    id: 'processor.governor',
    title: 'Frequency governor',
    requiredFor: ['worker'],
    wanted: 'performance on every processor',
    why: 'A processor that slows down while it idles runs the next INFER slower than any measured before.',
  };
  const governors = processors(host)
    .map((cpu) => host.read(`${CPUS}/${cpu}/${GOVERNOR}`)?.trim())
    .filter((name) => name !== undefined);
  if (governors.length === 0) return skipped(question, absent(host, 'no governor, as in virtual machines'));
  const ok = governors.every((name) => name === 'performance');
  const found = [...new Set(governors)].map(
    (name) => `${name} ×${governors.filter((n) => n === name).length}`,
  );
  const mend = sysfsMend(host, 'governor', `${CPUS}/cpu*/${GOVERNOR}`, 'performance');
  return judged(question, ok, found.join(', '), mend);
}

function hugePages(host: Host): Check {
  const question: Question = {
    id: 'processor.huge-pages',
    title: 'Transparent huge pages',
    requiredFor: ['worker'],
    wanted: 'madvise or never',
    why: 'With always, the kernel stops threads for milliseconds to find and clear 2 MiB at a time.',
  };
  const setting = /\[(\w+)\]/.exec(host.read(HUGE_PAGES) ?? '')?.[1];
  if (setting === undefined) return skipped(question, absent(host, 'this kernel has none'));
  return judged(
    question,
    setting !== 'always',
    setting,
    sysfsMend(host, 'huge-pages', HUGE_PAGES, 'madvise'),
  );
}

function multithreading(host: Host): Check {
  const question: Question = {
    id: 'processor.smt',
    title: 'Simultaneous multithreading (SMT)',
    requiredFor: [],
    wanted: 'off',
    why: 'Two threads on one core slow each other down by as much as the other happens to do.',
  };
  const control = host.read(`${CPUS}/smt/control`)?.trim();
  if (control === undefined) return skipped(question, absent(host, 'the kernel does not tell'));
  if (control === 'notimplemented') return skipped(question, 'the kernel does not tell');
  if (control === 'notsupported') return judged(question, true, 'the processor has none');
  return judged(question, control !== 'on', control, sysfsMend(host, 'smt', `${CPUS}/smt/control`, 'off'));
}

function isolation(host: Host): Check {
  const question: Question = {
    id: 'processor.isolated',
    title: 'Isolated processors',
    requiredFor: [],
    wanted: 'some that only a worker gets',
    why: 'On the others any process and interrupt may run in the middle of an INFER.',
  };
  const isolated = host.read(`${CPUS}/isolated`)?.trim();
  if (isolated === undefined) return skipped(question, absent(host, 'the kernel does not tell'));
  const count = processors(host).length;
  const shared = host.read(SERVICES)?.trim() ?? '';
  const kept = shared === '' || shared === `0-${count - 1}` ? '' : `services keep to ${shared}`;
  const found = [isolated, kept].filter((part) => part !== '').join('; ');
  if (found === '' && count < FEWEST_TO_ISOLATE) {
    return skipped(question, `${count} are too few to set some aside`);
  }
  return judged(question, found !== '', found === '' ? 'none' : found, isolationMend(host, count));
}

/**
 * Not isolcpus: the kernel never moves a thread between processors isolated that way, so that all threads of a worker
 * would share the first of them (https://docs.kernel.org/admin-guide/kernel-parameters.html).
 */
function isolationMend(host: Host, count: number): Mend {
  const shared = `0-${SHARED - 1}`;
  const own = `${SHARED}-${count - 1}`;
  if (!hasSystemd(host)) {
    return advise(
      `keep all else on processors ${shared}, with a cpuset, and start with: taskset -c ${own} escapement worker …`,
    );
  }
  return {
    commands: ['init.scope', 'system.slice', 'user.slice'].map(
      (unit) => `systemctl set-property ${unit} AllowedCPUs=${shared}`,
    ),
    asUser: false,
    lostAtReboot: false,
    note: `${own} are free then for: sudo systemd-run --pty --same-dir --uid=$USER --slice=escapement escapement worker …`,
  };
}

function processors(host: Host): string[] {
  return host.list(CPUS).filter((name) => /^cpu\d+$/.test(name));
}

/** Why a file of /sys is not there. */
function absent(host: Host, otherwise: string): string {
  if (host.platform !== 'linux') return `cannot be found out on ${host.platform}`;
  return isContainer(host) && host.list(CPUS).length === 0 ? 'the container does not show /sys' : otherwise;
}
