/** What a machine is to be used for: it runs models, schedules them, or sends load. */
export const ROLES = ['worker', 'controller', 'client'] as const;
export type Role = (typeof ROLES)[number];

/** `skipped`: does not apply here, or cannot be found out; `found` says why. */
export type CheckStatus = 'ok' | 'failed' | 'skipped';

/** One thing that a machine should be or have, and whether it is so. */
export interface Check {
  /** Stable, for scripts, e.g. `limits.open-files` or `gpu.0.persistence`. */
  readonly id: string;
  readonly title: string;
  readonly status: CheckStatus;
  /** For whom a failure means that latencies cannot be relied on; for all others it is advice. */
  readonly requiredFor: readonly Role[];
  readonly found: string;
  readonly wanted: string;
  /** What goes wrong otherwise, in one sentence. */
  readonly why: string;
  /**
   * How to fix it; for a check that passed, what has to be repeated after a reboot so that it passes again. Null: there is
   * no fix, or none is needed.
   */
  readonly fix: Fix | null;
}

export interface Fix {
  /** Shell commands, exactly as they are to be typed, which may be repeated; as root unless `asUser`. */
  readonly commands: readonly string[];
  readonly asUser: boolean;
  /** Lost at the next start of the machine (or of the shell, for environment variables) unless repeated. */
  readonly lostAtReboot: boolean;
  /** When it takes effect, or what to do where no command can. */
  readonly note?: string;
}
