import { platformText } from '../sweep/cell-key.js';

/** Raised whenever sweeps and workers of the two sides no longer understand each other. */
const PROTOCOL = 3;

/** All keys in the server begin so: what a user of the server must be allowed to touch. */
const PREFIX = 'escapement';

/** Who may share a queue: results of others would differ, or could not be read. */
interface Kind {
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

/** How BullMQ's classes use the server: keys and versions are ours to check. */
export const BULLMQ = { prefix: PREFIX, skipVersionCheck: true } as const;

/** What is no longer renewed or fetched disappears from the server after this. */
export const KEPT_S = 3600;

/** Keys outside the queue itself. */
export const KEYS = {
  /** The ids of the workers, and of the sweeps, that were there lately. */
  workers: `${PREFIX}:workers`,
  sweeps: `${PREFIX}:sweeps`,
  /** The card of one of them, as long as it is there. */
  card: (directory: string, id: string) => `${directory}:${id}`,
  /** A piece of a file. */
  piece: (sha256: string, index: number) => `${PREFIX}:file:${sha256}:${index}`,
} as const;
