import { EscapementError } from '../core/errors.js';
import type { RuntimeSettings } from '../experiment/runtime-settings.js';
import { type OrtDeviceSpec, PROVIDERS, type Provider } from '../live/device.js';
import { sessionSettings } from '../serving/session-settings.js';
import { oneValueOr, wholeNumber } from './args.js';

/** The flags that name a device of onnxruntime. */
export const DEVICE_FLAGS = {
  device: oneValueOr('cpu', `Execution provider: ${PROVIDERS.join(', ')}`),
  adapter: oneValueOr('0', 'Index of the GPU, where the provider can choose one'),
} as const;

export interface DeviceArgs {
  readonly device: string;
  readonly adapter: string;
}

/** The device that the flags name, with these settings. Throws `E_USAGE`. */
export function ortDevice({ device, adapter }: DeviceArgs, runtime: RuntimeSettings): OrtDeviceSpec {
  return {
    kind: provider(device),
    adapter: wholeNumber(adapter, 'adapter', 0),
    session: sessionSettings(runtime),
  };
}

/** Throws `E_USAGE`. */
export function provider(text: string): Provider {
  const known = PROVIDERS.find((name) => name === text);
  if (known !== undefined) return known;
  throw new EscapementError('E_USAGE', `--device ${text}: choose one of ${PROVIDERS.join(', ')}`);
}
