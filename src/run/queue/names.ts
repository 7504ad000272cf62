import { platformText } from '../sweep/cell-key.js';

/** Raised whenever sweeps and workers of two versions are incompatible. */
const PROTOCOL = 5;

/** Prefix of all keys in the server: a user of the server needs access to these alone. */
const PREFIX = 'escapement';

/** Version and platform of this process: they must be equal to share a queue, or results would differ. */
export function kindText(version: string): string {
  return `escapement ${version} on ${platformText()}`;
}

export function queueName(version: string): string {
  return `cells-${version}-p${PROTOCOL}-${platformText().replaceAll(/[^\w.]+/g, '-')}`;
}

/** BullMQ's options for the server: keys and versions are ours to check. */
export const BULLMQ = { prefix: PREFIX, skipVersionCheck: true } as const;

/** Lifetime in the server of anything no longer renewed or fetched. */
export const KEPT_S = 3600;

/** Lifetime of the mark of a sweep after its last renewal, which is much more frequent. */
export const MARK_MS = 20_000;

/** Keys outside the queue itself. */
export const KEYS = {
  /** Mark of a sweep, as long as it is there. */
  sweep: (id: string) => `${PREFIX}:sweep:${id}`,
  file: (sha256: string) => `${PREFIX}:file:${sha256}`,
} as const;
