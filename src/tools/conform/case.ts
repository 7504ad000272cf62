import type { Trial } from './trial.js';

/**
 * How much a case counts. `required`: the protocol's core demands it. `extension`: an extension demands it of servers
 * that announce that extension. `optional`: a server may lack it, but what it has must be right. `advice`: other
 * specifications or experience with clients ask for it.
 */
export type Level = 'required' | 'extension' | 'optional' | 'advice';

/** Names of groups of cases, in the order they run. */
export const GROUPS = [
  'http',
  'errors',
  'binary',
  'grpc',
  'statistics',
  'configuration',
  'repository',
  'classification',
  'senders',
  'robustness',
] as const;
export type Group = (typeof GROUPS)[number];

/** One demand on a server, and how to find out whether it is met. */
export interface ConformCase {
  /** `GROUP.NAME`. */
  readonly id: string;
  readonly level: Level;
  /** Of an extension: its name in the server's metadata. */
  readonly extension?: string;
  /** Where the demand is written down. */
  readonly section: string;
  /** The demand, in a sentence. */
  readonly says: string;
  /** Returns if it is met; otherwise throws a `Finding`. */
  readonly run: (trial: Trial) => Promise<void>;
}
