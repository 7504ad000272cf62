import { asRoot, type Fix, type Row, untilReboot } from './check.js';
import { type Host, hasSystemd, isContainer, type Machine } from './host.js';

const CPUS = '/sys/devices/system/cpu';
const GOVERNOR = 'cpufreq/scaling_governor';
const SMT = `${CPUS}/smt/control`;
const HUGE_PAGES = '/sys/kernel/mm/transparent_hugepage/enabled';

/** Cores run at a constant speed. */
export const CPU: readonly Row<Machine>[] = [
  {
    id: 'cpu.governor',
    title: 'Frequency governor',
    requiredFor: ['worker'],
    wanted: 'performance on every core',
    why: 'A core that slows down while idle runs the next INFER slower than its profile says.',
    read: ({ host }) => {
      const governors = cores(host)
        .map((cpu) => host.read(`${CPUS}/${cpu}/${GOVERNOR}`)?.trim())
        .filter((name) => name !== undefined);
      if (governors.length === 0) return absent(host, 'no governor, as usual in virtual machines');
      const counts = [...new Set(governors)].map(
        (name) => `${name} ×${governors.filter((n) => n === name).length}`,
      );
      return {
        ok: governors.every((name) => name === 'performance'),
        found: counts.join(', '),
        fix: sysfs(host, 'governor', `${CPUS}/cpu*/${GOVERNOR}`, 'performance'),
      };
    },
  },
  {
    id: 'cpu.huge-pages',
    title: 'Transparent huge pages',
    requiredFor: ['worker'],
    wanted: 'madvise or never',
    why: 'With always, the kernel stops threads for milliseconds to find and clear 2 MiB pages.',
    read: ({ host }) => {
      const setting = /\[(\w+)\]/.exec(host.read(HUGE_PAGES) ?? '')?.[1];
      if (setting === undefined) return absent(host, 'this kernel has none');
      return {
        ok: setting !== 'always',
        found: setting,
        fix: sysfs(host, 'huge-pages', HUGE_PAGES, 'madvise'),
      };
    },
  },
  {
    id: 'cpu.smt',
    title: 'Simultaneous multithreading (SMT)',
    requiredFor: [],
    wanted: 'off',
    why: 'Two threads on one core slow each other down, by an amount that varies.',
    read: ({ host }) => {
      const control = host.read(SMT)?.trim() ?? 'notimplemented';
      if (control === 'notimplemented') return absent(host, 'the kernel does not report it');
      if (control === 'notsupported') return { ok: true, found: 'the CPU has none' };
      return { ok: control !== 'on', found: control, fix: sysfs(host, 'smt', SMT, 'off') };
    },
  },
];

/** Writes `value` to files of /sys, now and, if systemd is available, at every boot. */
function sysfs(host: Host, name: string, path: string, value: string): Fix {
  // Continues if one file cannot be written, and fails at the end.
  if (!hasSystemd(host)) return untilReboot(`echo ${value} | tee ${path} > /dev/null`);
  const file = `/etc/tmpfiles.d/escapement-${name}.conf`;
  return asRoot([`echo 'w ${path} - - - - ${value}' > ${file}`, `systemd-tmpfiles --create ${file}`]);
}

function cores(host: Host): string[] {
  return host.list(CPUS).filter((name) => /^cpu\d+$/.test(name));
}

/** Explains why a file of /sys is missing. */
function absent(host: Host, otherwise: string): string {
  if (host.platform !== 'linux') return `unknown on ${host.platform}`;
  const isHidden = isContainer(host) && host.list(CPUS).length === 0;
  return isHidden ? '/sys is not visible in the container' : otherwise;
}
