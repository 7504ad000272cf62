import type { Check, Mend } from './check.js';
import { type Host, isContainer } from './host.js';
import { advise, judged, type Question, skipped, sysfsMend } from './verdict.js';

const CPUS = '/sys/devices/system/cpu';
const GOVERNOR = 'cpufreq/scaling_governor';
const HUGE_PAGES = '/sys/kernel/mm/transparent_hugepage/enabled';
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
  const found = control === 'notsupported' ? 'the processor has none' : control;
  return judged(question, control !== 'on', found, sysfsMend(host, 'smt', `${CPUS}/smt/control`, 'off'));
}

function isolation(host: Host): Check {
  const question: Question = {
    id: 'processor.isolated',
    title: 'Isolated processors',
    requiredFor: [],
    wanted: 'some that the kernel gives to nobody who does not ask',
    why: 'On the others any process and interrupt may run in the middle of an INFER.',
  };
  const isolated = host.read(`${CPUS}/isolated`)?.trim();
  if (isolated === undefined) return skipped(question, absent(host, 'the kernel does not tell'));
  const count = processors(host).length;
  if (isolated === '' && count < FEWEST_TO_ISOLATE) {
    return skipped(question, `${count} are too few to set some aside`);
  }
  return judged(question, isolated !== '', isolated === '' ? 'none' : isolated, isolationMend(host, count));
}

function isolationMend(host: Host, count: number): Mend {
  const set = `${SHARED}-${count - 1}`;
  const kernel = `isolcpus=${set} nohz_full=${set} rcu_nocbs=${set}`;
  const use = `counts from the next start of the machine; then start with: taskset -c ${set} escapement worker …`;
  // Only Debian's and its descendants' boot loader reads this folder.
  if (!host.list('/etc/default').includes('grub.d')) {
    return advise(`add to the kernel's command line: ${kernel}; ${use}`);
  }
  const line = `GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX ${kernel}"`;
  return {
    commands: [`echo '${line}' > /etc/default/grub.d/escapement.cfg`, 'update-grub'],
    asUser: false,
    lostAtReboot: false,
    note: use,
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
