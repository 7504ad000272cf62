import { platformText } from '../sweep/cell-key.js';

/** Raised whenever sweeps and workers of two versions are incompatible. */
const PROTOCOL = 3;

/** Prefix of all keys in the server: a user of the server needs access to these alone. */
const PREFIX = 'escapement';

/** Properties that must be equal to share a queue: otherwise results would differ, or be unreadable. */
interface Kind {
  readonly version: string;
  readonly protocol: number;
  readonly platform: string;
}

/** Kind of this process. */
export function ownKind(version: string): Kind {
  return { version, protocol: PROTOCOL, platform: platformText() };
}

export function queueName({ version, protocol, platform }: Kind): string {
  return `cells-${version}-p${protocol}-${platform.replaceAll(/[^\w.]+/g, '-')}`;
}

export function kindText({ version, protocol, platform }: Kind): string {
  return `escapement ${version} on ${platform}${protocol === PROTOCOL ? '' : ` (protocol ${protocol})`}`;
}

/** BullMQ's options for the server: keys and versions are ours to check. */
export const BULLMQ = { prefix: PREFIX, skipVersionCheck: true } as const;

/** Lifetime in the server of anything no longer renewed or fetched. */
export const KEPT_S = 3600;

/** Keys outside the queue itself. */
export const KEYS = {
  /** Ids of the workers, and of the sweeps, that were there recently. */
  workers: `${PREFIX}:workers`,
  sweeps: `${PREFIX}:sweeps`,
  /** Card of one of them, as long as it is there. */
  card: (directory: string, id: string) => `${directory}:${id}`,
  /** A piece of a file. */
  piece: (sha256: string, index: number) => `${PREFIX}:file:${sha256}:${index}`,
} as const;
