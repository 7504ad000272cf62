import type { RuntimeSettings } from '../config/schema-runtime.js';
import type { SessionSettings } from '../live/device.js';

/** The part of `runtime` that applies to a device's threads and sessions. */
export function sessionSettings({
  laneThreads,
  intraOpThreads,
  interOpThreads,
  arena,
  memoryPattern,
  storageBufferCache,
}: RuntimeSettings): SessionSettings {
  return { laneThreads, intraOpThreads, interOpThreads, arena, memoryPattern, storageBufferCache };
}
