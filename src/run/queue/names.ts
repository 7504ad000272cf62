import { platformText } from '../sweep/platform.js';

/** Raised whenever sweeps and workers of the two sides no longer understand each other. */
const PROTOCOL = 2;

/** All keys in the server begin so: what a user of the server must be allowed to touch. */
export const PREFIX = 'escapement';

/** Who may share a queue: results of others would differ, or could not be read. */
export interface Kind {
  readonly version: string;
  readonly protocol: number;
  readonly platform: string;
}

/** What this process is. */
export function ownKind(version: string): Kind {
  return { version, protocol: PROTOCOL, platform: platformText() };
}

export function queueName({ version, protocol, platform }: Kind): string {
  return `cells-${version}-p${protocol}-${platform.replaceAll(/[^\w.]+/g, '-')}`;
}

export function kindText({ version, protocol, platform }: Kind): string {
  return `escapement ${version} on ${platform}${protocol === PROTOCOL ? '' : ` (protocol ${protocol})`}`;
}

/** Keys outside the queue itself. */
export const KEYS = {
  /** The workers, and the sweeps, that are there: their cards by the time at which they count as gone. */
  workers: `${PREFIX}:workers`,
  sweeps: `${PREFIX}:sweeps`,
  /** Is there as long as a sweep is. */
  alive: (sweep: string) => `${PREFIX}:alive:${sweep}`,
  /** What workers found for a sweep. */
  results: (sweep: string) => `${PREFIX}:results:${sweep}`,
  /** A piece of a file. */
  piece: (sha256: string, index: number) => `${PREFIX}:file:${sha256}:${index}`,
} as const;
