import { usageError } from '../base/errors.js';
import { usableMemoryBytes } from '../base/limits/usable.js';
import { GIB } from '../base/units.js';
import { formatBytes } from '../config/units-text.js';
import type { DeviceSpec } from '../live/device.js';
import { deviceMemory } from '../live/ort/device-memory.js';
import { significant } from '../text/numbers.js';

/** More than most models need; users may choose larger sizes. */
const DEFAULT_BYTES = 8 * GIB;

/**
 * Size in bytes of the weights cache of each of these equal devices: as requested, or else the default, reduced to
 * leave the reserved share of the device's memory free. Throws `E_USAGE` if it does not fit. A device's memory is not
 * always known; simulated devices have as much as needed.
 */
export async function weightsCacheBytes(
  devices: readonly DeviceSpec[],
  askedBytes: number | null,
  memoryReserve: number,
  memoryOf: typeof deviceMemory = deviceMemory,
  hostBytes = usableMemoryBytes(),
): Promise<number> {
  const memoryBytes = await deviceMemoryBytes(devices, memoryOf, hostBytes);
  if (memoryBytes === null) return askedBytes ?? DEFAULT_BYTES;
  const mostBytes = Math.floor(memoryBytes * (1 - memoryReserve));
  if (askedBytes === null) return Math.min(DEFAULT_BYTES, mostBytes);
  if (askedBytes <= mostBytes) return askedBytes;
  const share = `${significant(memoryReserve * 100, 3)}%`;
  throw usageError(
    `--memory ${formatBytes(askedBytes)}: a device has ${formatBytes(memoryBytes)}, of which runtime.memoryReserve keeps ${share} free; ` +
      `use at most ${formatBytes(mostBytes)}, or a smaller reserve`,
  );
}

/** Memory of the smallest device; CPU devices share the machine's. Null if not known. */
async function deviceMemoryBytes(
  devices: readonly DeviceSpec[],
  memoryOf: typeof deviceMemory,
  hostBytes: number,
): Promise<number | null> {
  if (devices[0]?.kind === 'cpu') return hostBytes / devices.length;
  const known = await Promise.all(devices.map((each) => (each.kind === 'simulated' ? null : memoryOf(each))));
  const least = Math.min(...known.map((memory) => memory?.totalBytes ?? Number.NaN));
  return Number.isNaN(least) ? null : least;
}
