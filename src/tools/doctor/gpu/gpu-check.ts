import type { Check, CheckStatus, Fix } from '../check.js';
import type { GpuFacts } from './query.js';

/** What the check of one GPU found; the rest of it is the same whatever was found. */
export interface Finding {
  readonly status: CheckStatus;
  readonly found: string;
  /** Of a failure, or of a setting that a reboot undoes. */
  readonly fix?: Fix | null;
}

export interface Subject extends Pick<Check, 'requiredFor' | 'wanted' | 'why'> {
  /** Last part of the check's id. */
  readonly key: string;
  readonly title: string;
}

export function gpuCheck(gpu: GpuFacts, subject: Subject, finding: Finding): Check {
  const { key, title, requiredFor, wanted, why } = subject;
  return {
    id: `gpu.${gpu.row.index}.${key}`,
    title: `GPU ${gpu.row.index} ${title}`,
    status: finding.status,
    requiredFor,
    found: finding.found,
    wanted,
    why,
    fix: finding.fix ?? null,
  };
}

/** A setting that is as wanted: a reboot would undo it, so that what set it has to be repeated then. */
export function isSet(found: string, fix: Fix): Finding {
  return { status: 'ok', found, fix };
}

/** `nvidia-smi` with such flags for that GPU. The driver forgets its settings when it is unloaded. */
export function setting(gpu: GpuFacts, flags: string): Fix {
  return { commands: [`nvidia-smi -i ${gpu.row.index} ${flags}`], asUser: false, lostAtReboot: true };
}

/** What to do where no command can. */
export function byHand(note: string): Fix {
  return { commands: [], asUser: false, lostAtReboot: false, note };
}
