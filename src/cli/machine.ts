import { ON_DISK } from '../config/files-on-disk.js';
import type { Profile } from '../config/profile.js';
import { readProfile } from '../config/read-profile.js';
import type { RuntimeSettings } from '../config/schema-runtime.js';
import { formatBytes } from '../config/units-text.js';
import { type DeviceSpec, type OrtDeviceSpec, PROVIDERS } from '../live/device.js';
import type { MachineOptions } from '../live/worker/local-machine.js';
import { ALL_MODELS, type DeploymentOptions, type StartNeeds } from '../serve/deployment-options.js';
import { usageError, type ValuesOf } from './options.js';
import type { deploymentFlags, machineFlags } from './server-options.js';
import { weightsCacheBytes } from './weights-cache.js';

const SIMULATED = 'simulated:';

type MachineArgs = ValuesOf<typeof machineFlags>;
type DeploymentArgs = ValuesOf<typeof deploymentFlags>;

/**
 * GPUs selected by the flags. Models are read from the repository when a controller asks for them; simulated GPUs
 * have those of their profiles from the start. `say` gets lines for the operator. Throws coded errors, also if a
 * repository lacks one of `needs`.
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
  if (device.kind === 'simulated') {
    if (args.repository.length > 0)
      throw usageError('--repository: simulated GPUs serve the models of their profiles: leave it out');
    const { simulatedModels } = await import('../serve/simulated-models.js');
    const models = simulatedModels(await profilesOf(args), args.copies, pageBytes, device.timeScale);
    return { ...machine, models };
  }
  const dirs = repositoriesOf(args);
  const { precision } = runtime;
  const { measure, budget: budgetNs } = args;
  if (measure === 'none' && budgetNs !== undefined)
    throw usageError('--budget has an effect only with --measure quick or full');
  if (needs !== 'nothing') {
    const { noModels, scanRepositories } = await import('../live/models/scan.js');
    const { versions, problems } = scanRepositories(dirs, precision);
    if (needs === 'model' && versions.length === 0 && problems.length === 0) throw noModels(dirs[0]);
  }
  const { RepositorySource } = await import('../serve/repository-source.js');
  const cacheDir = args['cache-dir'] ?? null;
  const options = { device, pageBytes, cacheDir, measure, budgetNs };
  return { ...machine, models: [], source: new RepositorySource({ dirs, precision, options }, say) };
}

/** Machine of a worker whose controller runs elsewhere, which asks for its models: other workers may have others. */
export async function workerMachine(
  args: MachineArgs,
  runtime: RuntimeSettings,
  say: (what: string) => void,
): Promise<MachineOptions> {
  const machine = await machineOptions(args, runtime, say, 'repository');
  if (machine.source === undefined) {
    const { StartedModels } = await import('../live/worker/local-machine.js');
    return { ...machine, models: [], source: new StartedModels(machine.models) };
  }
  const { ReportedSource } = await import('../serve/repository-source.js');
  return { ...machine, source: new ReportedSource(machine.source, args.repository, say) };
}

/** Machine with all models from the start: they are prepared now, and measured if necessary. */
export async function completeMachine(
  args: MachineArgs,
  runtime: RuntimeSettings,
  say: (what: string) => void,
): Promise<MachineOptions> {
  if (args.device.startsWith(SIMULATED))
    return machineOptions({ ...args, repository: [] }, runtime, say, 'model');
  const machine = await machineWithoutModels(args, runtime);
  const [device] = machine.devices as OrtDeviceSpec[];
  const { repositoryModels } = await import('../serve/prepare-model.js');
  const options = { precision: runtime.precision, cacheDir: args['cache-dir'] ?? null };
  const models = await repositoryModels(repositoriesOf(args)[0], device, machine.pageBytes, say, options);
  return { ...machine, models };
}

/** Models to run, and how they are chosen. Throws `E_USAGE` for flags that only another `--model-control` accepts. */
export function deploymentOptions(
  args: DeploymentArgs & { readonly repository?: readonly string[] },
): DeploymentOptions {
  const { 'model-control': control, 'load-model': names, 'poll-interval': pollNs = null } = args;
  if (names.length > 0 && control !== 'explicit') {
    const what = 'only --model-control explicit loads models by name';
    throw usageError(`--load-model ${names[0]}: ${what}; ${control} starts with every model`);
  }
  if (pollNs !== null && control !== 'poll')
    throw usageError('--poll-interval has an effect only with --model-control poll');
  return {
    ...{ dirs: args.repository ?? [], control, names, idleNs: args['idle-unload'], isStrict: args.strict },
    pollNs: pollNs ?? ALL_MODELS.pollNs,
  };
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
  return { devices, pages, pageBytes, memoryLeak: runtime.memoryLeak };
}

function machineDevices(args: MachineArgs, runtime: RuntimeSettings): DeviceSpec[] {
  const { device, gpus, adapter } = args;
  if (device.startsWith(SIMULATED)) {
    const timeScale = args['time-scale'];
    return Array.from({ length: gpus }, () => ({ kind: 'simulated', timeScale }));
  }
  const kind = PROVIDERS.find((provider) => provider === device);
  if (kind === undefined) {
    throw usageError(`--device ${device}: must be one of ${PROVIDERS.join(', ')}, or simulated:PROFILE`);
  }
  return Array.from({ length: gpus }, (_, gpu) => ({
    kind,
    // Each GPU of a kind that has several is a separate adapter.
    adapter: kind === 'cuda' || kind === 'dml' ? adapter + gpu : adapter,
    session: runtime,
  }));
}

function profilesOf({ device }: MachineArgs): Promise<Profile[]> {
  const paths = device.slice(SIMULATED.length).split(',');
  return Promise.all(paths.map((path) => readProfile(path, ON_DISK)));
}

function repositoriesOf({ repository }: MachineArgs): readonly string[] {
  if (repository.length > 0) return repository;
  throw usageError('--repository FOLDER is required, unless with --device simulated:PROFILE');
}
