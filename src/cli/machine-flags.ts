import type { Options } from 'yargs';
import { EscapementError } from '../core/errors.js';
import { readProfile } from '../experiment/profile.js';
import type { RuntimeSettings } from '../experiment/runtime-settings.js';
import { formatBytes, parseBytes } from '../experiment/units-text.js';
import { type DeviceSpec, PROVIDERS, type Provider } from '../live/device.js';
import type { MachineOptions } from '../live/machine/local-machine.js';
import { sessionSettings } from '../serving/session-settings.js';
import { oneValue, oneValueOr, wholeNumber } from './args.js';
import { weightsCacheBytes } from './weights-cache.js';

const DEFAULT_PAGE = '16MiB';
const SIMULATED = 'simulated:';

/** Flags of whatever has GPUs of its own: `serve` and `worker`. */
export const machineFlags = {
  repository: oneValue({ describe: 'Models to serve: folder of NAME/VERSION/model.onnx' }),
  device: oneValueOr(
    'cpu',
    `What executes: ${PROVIDERS.join(', ')}, or simulated:PROFILE (several with commas), which needs no models`,
  ),
  gpus: oneValueOr('1', 'GPUs of this process'),
  adapter: oneValueOr('0', 'First adapter to use, where the device has several'),
  memory: oneValue({
    describe: "Size of each GPU's weights cache",
    defaultDescription: '8GiB, or what runtime.memoryReserve leaves',
  }),
  'page-size': oneValueOr(DEFAULT_PAGE, 'Size of a page of the weights cache'),
  copies: oneValueOr('1', 'Copies of each profile that a simulated device serves'),
  'time-scale': oneValueOr('1', 'A simulated device takes this many times as long; 0: no time at all'),
} satisfies Record<string, Options>;

export interface MachineArgs {
  readonly repository: string | undefined;
  readonly device: string;
  readonly gpus: string;
  readonly adapter: string;
  readonly memory: string | undefined;
  readonly 'page-size': string;
  readonly copies: string;
  readonly 'time-scale': string;
}

/** Reads the models that the flags name, measuring those without a profile. Throws coded errors. */
export async function machineOptions(
  args: MachineArgs,
  runtime: RuntimeSettings,
  onProgress: (what: string) => void,
): Promise<MachineOptions> {
  const pageBytes = bytes(args['page-size'], 'page-size');
  const devices = machineDevices(args, runtime);
  const askedBytes = args.memory === undefined ? null : bytes(args.memory, 'memory');
  const memoryBytes = await weightsCacheBytes(devices, askedBytes, runtime.memoryReserve);
  const pages = Math.floor(memoryBytes / pageBytes);
  if (pages < 1) {
    throw new EscapementError(
      'E_USAGE',
      `--memory ${args.memory ?? formatBytes(memoryBytes)}: is less than a page (${formatBytes(pageBytes)})`,
    );
  }
  return {
    devices,
    models: await machineModels(args, devices[0], pageBytes, runtime.precision, onProgress),
    pages,
    pageBytes,
  };
}

function machineDevices(args: MachineArgs, runtime: RuntimeSettings): DeviceSpec[] {
  const { device } = args;
  const gpus = wholeNumber(args.gpus, 'gpus', 1);
  const adapter = wholeNumber(args.adapter, 'adapter', 0);
  if (device.startsWith(SIMULATED)) {
    const timeScale = Number(args['time-scale']);
    if (!(timeScale >= 0 && Number.isFinite(timeScale)) || args['time-scale'].trim() === '') {
      throw new EscapementError('E_USAGE', `--time-scale ${args['time-scale']}: write a number, at least 0`);
    }
    return Array.from({ length: gpus }, () => ({ kind: 'simulated', timeScale }));
  }
  const kind = PROVIDERS.find((provider) => provider === device);
  if (kind === undefined) {
    throw new EscapementError(
      'E_USAGE',
      `--device ${device}: there are ${PROVIDERS.join(', ')} and simulated:PROFILE`,
    );
  }
  return Array.from({ length: gpus }, (_, gpu) => ({
    kind,
    adapter: adapterOf(kind, adapter, gpu),
    session: sessionSettings(runtime),
  }));
}

/** Each GPU of a kind that has several is an adapter of its own. */
function adapterOf(kind: Provider, first: number, gpu: number): number {
  return kind === 'cuda' || kind === 'dml' ? first + gpu : first;
}

async function machineModels(
  args: MachineArgs,
  device: DeviceSpec,
  pageBytes: number,
  precision: RuntimeSettings['precision'],
  onProgress: (what: string) => void,
): Promise<MachineOptions['models']> {
  if (device.kind === 'simulated') {
    const { simulatedModels } = await import('../serving/simulated-models.js');
    const paths = args.device.slice(SIMULATED.length).split(',');
    const profiles = await Promise.all(paths.map((path) => readProfile(path)));
    return simulatedModels(profiles, wholeNumber(args.copies, 'copies', 1), pageBytes, device.timeScale);
  }
  if (args.repository === undefined) {
    throw new EscapementError(
      'E_USAGE',
      '--repository DIR is missing: name the models to serve, or use --device simulated:PROFILE',
    );
  }
  const { repositoryModels } = await import('../serving/repository-models.js');
  return repositoryModels(args.repository, device, pageBytes, onProgress, precision);
}

/** A size from a flag, at least a byte. Throws `E_USAGE`. */
export function bytes(text: string, flag: string): number {
  let size = 0;
  try {
    size = parseBytes(text);
  } catch {
    // Said below, as of a size of 0.
  }
  if (size >= 1) return size;
  throw new EscapementError('E_USAGE', `--${flag} ${text}: write a size such as 8GiB`);
}
