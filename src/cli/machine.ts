import { ON_DISK } from '../config/files-on-disk.js';
import type { Profile } from '../config/profile.js';
import { readProfile } from '../config/read-profile.js';
import type { RuntimeSettings } from '../config/schema-runtime.js';
import { formatBytes } from '../config/units-text.js';
import { type DeviceSpec, type OrtDeviceSpec, PROVIDERS, type Provider } from '../live/device.js';
import type { Precision } from '../live/models/precision.js';
import type { MachineOptions } from '../live/worker/local-machine.js';
import { ALL_MODELS, type DeploymentOptions, type StartNeeds } from '../serve/deployment-options.js';
import { sessionSettings } from '../serve/session-settings.js';
import type { ValuesOf } from './options.js';
import { usageError } from './options.js';
import type { deploymentFlags, machineFlags } from './server-options.js';
import { weightsCacheBytes } from './weights-cache.js';

const SIMULATED = 'simulated:';

type MachineArgs = ValuesOf<typeof machineFlags>;
type DeploymentArgs = ValuesOf<typeof deploymentFlags>;

/**
 * GPUs named by the flags. Models are read from the repository when a controller asks for them; simulated GPUs without
 * a repository have those of their profiles from the start. `say` gets lines for the operator. Throws coded errors,
 * also if a repository lacks one of `needs`.
 */
export async function machineOptions(
  args: MachineArgs,
  runtime: RuntimeSettings,
  say: (what: string) => void,
  needs: StartNeeds,
): Promise<MachineOptions> {
  const machine = await machineWithoutModels(args, runtime);
  const { pageBytes } = machine;
  const [device] = machine.devices;
  if (device.kind === 'simulated' && args.repository === undefined) {
    return { ...machine, models: await modelsOfProfiles(args, pageBytes, device.timeScale) };
  }
  const dir = repositoryOf(args);
  if (needs !== 'nothing') await checkRepository(dir, runtime.precision, needs);
  const { RepositorySource } = await import('../serve/repository-source.js');
  const cacheDir = args['cache-dir'] ?? null;
  const repository = (ort: OrtDeviceSpec) =>
    new RepositorySource(
      { dir, precision: runtime.precision, options: { device: ort, pageBytes, cacheDir } },
      say,
    );
  if (device.kind !== 'simulated') return { ...machine, models: [], source: repository(device) };
  const { SimulatedSource } = await import('../serve/simulated-source.js');
  const { timeScale } = device;
  const times = { profiles: await profilesOf(args), timeScale, pageBytes };
  const cpu = { kind: 'cpu', adapter: 0, session: sessionSettings(runtime) } as const;
  return { ...machine, models: [], source: new SimulatedSource(repository(cpu), times) };
}

/** Throws coded errors. */
async function checkRepository(dir: string, precision: Precision, needs: StartNeeds): Promise<void> {
  const { noModels, scanRepository } = await import('../live/models/scan.js');
  const { versions, problems } = scanRepository(dir, precision);
  if (needs === 'model' && versions.length === 0 && problems.length === 0) throw noModels(dir);
}

/** Machine for a controller elsewhere. */
export async function workerMachine(
  args: MachineArgs,
  runtime: RuntimeSettings,
  say: (what: string) => void,
): Promise<MachineOptions> {
  const machine = await machineOptions(args, runtime, say, 'repository');
  if (machine.source === undefined) return machine;
  const { ReportedSource } = await import('../serve/reported-source.js');
  return { ...machine, source: new ReportedSource(machine.source, repositoryOf(args), say) };
}

/** Machine with all models from the start: they are prepared now, and measured if necessary. */
export async function completeMachine(
  args: MachineArgs,
  runtime: RuntimeSettings,
  say: (what: string) => void,
): Promise<MachineOptions> {
  if (args.device.startsWith(SIMULATED))
    return machineOptions({ ...args, repository: undefined }, runtime, say, 'model');
  const machine = await machineWithoutModels(args, runtime);
  const [device] = machine.devices as OrtDeviceSpec[];
  const { repositoryModels } = await import('../serve/repository-models.js');
  const options = { precision: runtime.precision, cacheDir: args['cache-dir'] ?? null };
  const models = await repositoryModels(repositoryOf(args), device, machine.pageBytes, say, options);
  return { ...machine, models };
}

/** Models to run, and how they are chosen. Throws `E_USAGE`. */
export function deploymentOptions(
  args: DeploymentArgs & { readonly repository?: string | undefined },
): DeploymentOptions {
  checkControl(args);
  return {
    dir: args.repository ?? '',
    control: args['model-control'],
    names: args['load-model'],
    pollNs: args['poll-interval'] ?? ALL_MODELS.pollNs,
    idleNs: args['idle-unload'],
    isStrict: args.strict,
  };
}

/** Rejects flags that only one way of choosing models accepts. Throws `E_USAGE`. */
function checkControl({
  'model-control': control,
  'load-model': [named],
  'poll-interval': pollNs,
}: DeploymentArgs): void {
  if (named !== undefined && control !== 'explicit') {
    const what = 'only --model-control explicit loads models by name';
    throw usageError(`--load-model ${named}: ${what}; ${control} starts with every model`);
  }
  if (pollNs !== undefined && control !== 'poll')
    throw usageError('--poll-interval has an effect only with --model-control poll');
}

async function machineWithoutModels(
  args: MachineArgs,
  runtime: RuntimeSettings,
): Promise<Omit<MachineOptions, 'models'>> {
  const pageBytes = args['page-size'];
  const devices = machineDevices(args, runtime);
  const memoryBytes = await weightsCacheBytes(devices, args.memory ?? null, runtime.memoryReserve);
  const pages = Math.floor(memoryBytes / pageBytes);
  if (pages < 1) {
    throw usageError(`--memory ${formatBytes(memoryBytes)}: less than one page (${formatBytes(pageBytes)})`);
  }
  return { devices, pages, pageBytes };
}

function machineDevices(args: MachineArgs, runtime: RuntimeSettings): DeviceSpec[] {
  const { device, gpus, adapter } = args;
  if (device.startsWith(SIMULATED)) {
    const timeScale = Number(args['time-scale']);
    if (!(timeScale >= 0 && Number.isFinite(timeScale)) || args['time-scale'].trim() === '') {
      throw usageError(`--time-scale ${args['time-scale']}: must be a number, at least 0`);
    }
    return Array.from({ length: gpus }, () => ({ kind: 'simulated', timeScale }));
  }
  const kind = PROVIDERS.find((provider) => provider === device);
  if (kind === undefined) {
    throw usageError(`--device ${device}: must be one of ${PROVIDERS.join(', ')}, or simulated:PROFILE`);
  }
  return Array.from({ length: gpus }, (_, gpu) => ({
    kind,
    adapter: adapterOf(kind, adapter, gpu),
    session: sessionSettings(runtime),
  }));
}

/** Each GPU of a kind that has several is a separate adapter. */
function adapterOf(kind: Provider, first: number, gpu: number): number {
  return kind === 'cuda' || kind === 'dml' ? first + gpu : first;
}

async function modelsOfProfiles(
  args: MachineArgs,
  pageBytes: number,
  timeScale: number,
): Promise<MachineOptions['models']> {
  const { simulatedModels } = await import('../serve/simulated-models.js');
  return simulatedModels(await profilesOf(args), args.copies, pageBytes, timeScale);
}

function profilesOf({ device }: MachineArgs): Promise<Profile[]> {
  const paths = device.slice(SIMULATED.length).split(',');
  return Promise.all(paths.map((path) => readProfile(path, ON_DISK)));
}

function repositoryOf({ repository }: MachineArgs): string {
  if (repository !== undefined) return repository;
  throw usageError('--repository FOLDER is required, unless with --device simulated:PROFILE');
}
