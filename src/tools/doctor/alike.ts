import type { ReportedCheck } from './report.js';

/**
 * The same checks of several GPUs as one, titled `GPUs 0-7 persistence mode`, with the commands of all; `samenessOf`
 * says which belong together. Other checks are left as they are. The report of eight GPUs is then as easy to read as that of one.
 */
export function joinGpus(
  checks: readonly ReportedCheck[],
  samenessOf: (check: ReportedCheck) => readonly unknown[],
): ReportedCheck[] {
  // The same check of each GPU stays together, passed or failed.
  const subjects = new Map<string, Map<string, ReportedCheck[]>>();
  for (const check of checks) {
    const subject = check.id.replace(GPU_CHECK, 'gpu.$2');
    const groups = subjects.get(subject) ?? new Map<string, ReportedCheck[]>();
    const key = JSON.stringify(samenessOf(check));
    groups.set(key, [...(groups.get(key) ?? []), check]);
    subjects.set(subject, groups);
  }
  return [...subjects.values()].flatMap((groups) => [...groups.values()].map(join));
}

/** What a reboot undoes, in a sentence; null: nothing. */
export function rebootText(checks: readonly ReportedCheck[], lostAtReboot: readonly string[]): string | null {
  const lost = checks.filter(({ id }) => lostAtReboot.includes(id));
  if (lost.length === 0) return null;
  const titles = joinGpus(lost, () => []).map(({ title }) => title);
  return `Lost at every reboot unless set at boot: ${titles.join('; ')}.`;
}

/** `gpu.0.persistence` */
const GPU_CHECK = /^gpu\.(\d+)\.(.+)$/;

function join(alike: readonly ReportedCheck[]): ReportedCheck {
  const first = alike[0] as ReportedCheck;
  if (alike.length === 1) return first;
  const gpus = alike.map(({ id }) => Number(GPU_CHECK.exec(id)?.[1]));
  return {
    ...first,
    title: first.title.replace(/^GPU \d+/, `GPUs ${ranges(gpus)}`),
    fix: first.fix && { ...first.fix, commands: alike.flatMap(({ fix }) => fix?.commands ?? []) },
  };
}

/** Ascending numbers as `0-3, 7`. */
function ranges(numbers: readonly number[]): string {
  return numbers
    .filter((number) => !numbers.includes(number - 1))
    .map((from) => {
      let to = from;
      while (numbers.includes(to + 1)) to++;
      return from === to ? `${from}` : `${from}-${to}`;
    })
    .join(', ');
}
