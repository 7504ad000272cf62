import { execFile } from 'node:child_process';
import { MIB } from '../../base/units.js';
import type { DeviceMemory, OrtDeviceSpec } from '../device.js';

/** A driver in trouble may take for ever. */
const LIMIT_MS = 5_000;

/**
 * Memory of a device, and how much of it all processes use. Null if it is unknown: only CUDA's driver tells, unless the
 * GPU is divided. Never rejects.
 */
export async function deviceMemory(
  { kind, adapter }: Pick<OrtDeviceSpec, 'kind' | 'adapter'>,
  command = 'nvidia-smi',
): Promise<DeviceMemory | null> {
  if (kind !== 'cuda') return null;
  // CUDA counts only the GPUs named there; environment.ts makes its order that of the driver.
  const visible = process.env.CUDA_VISIBLE_DEVICES?.split(',')[adapter]?.trim();
  const fields = '--query-gpu=mig.mode.current,memory.used,memory.total';
  const args = ['-i', visible ?? String(adapter), fields, '--format=csv,noheader,nounits'];
  const said = await new Promise<string>((resolve) => {
    // Its status is not 0 if some board is damaged, although the answer is there.
    execFile(command, args, { timeout: LIMIT_MS, killSignal: 'SIGKILL' }, (_, stdout) => resolve(stdout));
  });
  const [, used, total] = /^(?!Enabled).*, *(\d+), *(\d+)\s*$/m.exec(said) ?? [];
  return used === undefined ? null : { usedBytes: Number(used) * MIB, totalBytes: Number(total) * MIB };
}
