import type { OrtDeviceSpec } from '../device.js';

/** Where the profile of a model on a device lies, beside its `model.onnx`. */
export function profileFileName({ kind, adapter, intraOpThreads }: OrtDeviceSpec): string {
  if (kind === 'cpu') return intraOpThreads === 1 ? 'profile.cpu.json' : `profile.cpu-${intraOpThreads}.json`;
  return adapter === 0 ? `profile.${kind}.json` : `profile.${kind}-${adapter}.json`;
}
