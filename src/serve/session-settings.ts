import type { RuntimeSettings } from '../config/schema-runtime.js';
import type { SessionSettings } from '../live/device.js';

/** The part of `runtime` that a device's threads and sessions get. */
export function sessionSettings({
  laneThreads,
  intraOpThreads,
  interOpThreads,
  affinity,
  arena,
  memoryPattern,
  storageBufferCache,
}: RuntimeSettings): SessionSettings {
  return { laneThreads, intraOpThreads, interOpThreads, affinity, arena, memoryPattern, storageBufferCache };
}
