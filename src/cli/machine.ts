import { EscapementError } from '../base/errors.js';
import { readProfile } from '../config/read-profile.js';
import type { RuntimeSettings } from '../config/schema-runtime.js';
import { formatBytes } from '../config/units-text.js';
import { type DeviceSpec, PROVIDERS, type Provider } from '../live/device.js';
import type { LoadedRepository } from '../live/models/models-on-disk.js';
import type { MachineOptions } from '../live/worker/local-machine.js';
import { sessionSettings } from '../serve/session-settings.js';
import type { ValuesOf } from './flag.js';
import type { machineFlags } from './usage/server.js';
import { weightsCacheBytes } from './weights-cache.js';

const SIMULATED = 'simulated:';

type MachineArgs = ValuesOf<typeof machineFlags>;

/** Reads the models that the flags name, measuring those without a profile. Throws coded errors. */
export async function machineOptions(
  args: MachineArgs,
  runtime: RuntimeSettings,
  onProgress: (what: string) => void,
): Promise<MachineOptions & MachineModels> {
  const pageBytes = args['page-size'];
  const devices = machineDevices(args, runtime);
  const memoryBytes = await weightsCacheBytes(devices, args.memory ?? null, runtime.memoryReserve);
  const pages = Math.floor(memoryBytes / pageBytes);
  if (pages < 1) {
    throw new EscapementError(
      'E_USAGE',
      `--memory ${formatBytes(memoryBytes)}: less than one page (${formatBytes(pageBytes)})`,
    );
  }
  return {
    devices,
    ...(await machineModels(args, devices[0], pageBytes, runtime.precision, onProgress)),
    pages,
    pageBytes,
  };
}

function machineDevices(args: MachineArgs, runtime: RuntimeSettings): DeviceSpec[] {
  const { device, gpus, adapter } = args;
  if (device.startsWith(SIMULATED)) {
    const timeScale = Number(args['time-scale']);
    if (!(timeScale >= 0 && Number.isFinite(timeScale)) || args['time-scale'].trim() === '') {
      throw new EscapementError(
        'E_USAGE',
        `--time-scale ${args['time-scale']}: must be a number, at least 0`,
      );
    }
    return Array.from({ length: gpus }, () => ({ kind: 'simulated', timeScale }));
  }
  const kind = PROVIDERS.find((provider) => provider === device);
  if (kind === undefined) {
    throw new EscapementError(
      'E_USAGE',
      `--device ${device}: must be one of ${PROVIDERS.join(', ')}, or simulated:PROFILE`,
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

/** What a machine serves. */
interface MachineModels {
  readonly models: MachineOptions['models'];
  /** Where they were loaded from; null: they are simulated. */
  readonly repository: LoadedRepository | null;
}

async function machineModels(
  args: MachineArgs,
  device: DeviceSpec,
  pageBytes: number,
  precision: RuntimeSettings['precision'],
  onProgress: (what: string) => void,
): Promise<MachineModels> {
  if (device.kind === 'simulated') {
    const { simulatedModels } = await import('../serve/simulated-models.js');
    const paths = args.device.slice(SIMULATED.length).split(',');
    const profiles = await Promise.all(paths.map((path) => readProfile(path)));
    const models = simulatedModels(profiles, args.copies, pageBytes, device.timeScale);
    return { models, repository: null };
  }
  if (args.repository === undefined) {
    throw new EscapementError(
      'E_USAGE',
      '--repository FOLDER is required, unless with --device simulated:PROFILE',
    );
  }
  const { repositoryModels } = await import('../serve/repository-models.js');
  const { repository: dir } = args;
  const models = await repositoryModels(
    dir,
    device,
    pageBytes,
    onProgress,
    precision,
    args['cache-dir'] ?? null,
  );
  return { models, repository: { dir, precision, models: models.map(({ source }) => source) } };
}
