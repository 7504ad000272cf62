import { EscapementError } from '../base/errors.js';
import { NS_PER_S } from '../base/units.js';
import { readProfile } from '../config/read-profile.js';
import type { RuntimeSettings } from '../config/schema-runtime.js';
import { formatBytes } from '../config/units-text.js';
import { type DeviceSpec, type OrtDeviceSpec, PROVIDERS, type Provider } from '../live/device.js';
import type { MachineOptions } from '../live/worker/local-machine.js';
import type { DeploymentPlan } from '../serve/server-models.js';
import { sessionSettings } from '../serve/session-settings.js';
import type { ValuesOf } from './flag.js';
import type { deploymentFlags, machineFlags } from './usage/server.js';
import { weightsCacheBytes } from './weights-cache.js';

const SIMULATED = 'simulated:';

type MachineArgs = ValuesOf<typeof machineFlags>;
type DeploymentArgs = ValuesOf<typeof deploymentFlags>;

/** Reads the models that the flags name, measuring those without a profile. Throws coded errors. */
export async function machineOptions(
  args: MachineArgs,
  runtime: RuntimeSettings,
  onProgress: (what: string) => void,
  isStrict = true,
): Promise<MachineOptions> {
  const machine = await machineWithoutModels(args, runtime);
  return { ...machine, models: await machineModels(args, machine, runtime, onProgress, isStrict) };
}

/** The same, with models that a controller asks for later: those of the repository as it is then. */
export async function workerMachine(
  args: MachineArgs,
  runtime: RuntimeSettings,
  say: (what: string) => void,
  isStrict: boolean,
): Promise<MachineOptions> {
  const machine = await machineOptions(args, runtime, say, isStrict);
  const { RepositorySource, StartedModels } = await import('../serve/repository-source.js');
  const [device] = machine.devices;
  if (device.kind === 'simulated') return { ...machine, source: new StartedModels(machine.models) };
  const prepare = { device, pageBytes: machine.pageBytes, cacheDir: args['cache-dir'] ?? null };
  const { precision } = runtime;
  return {
    ...machine,
    source: new RepositorySource({ dir: repositoryOf(args), precision, prepare, say }),
  };
}

/** A machine of which the models come while it runs, and how; null: it is simulated, and has them from the start. */
export async function deployedMachine(
  args: MachineArgs & DeploymentArgs,
  runtime: RuntimeSettings,
): Promise<{ readonly machine: MachineOptions; readonly deployment: DeploymentPlan } | null> {
  checkControl(args);
  if (args.device.startsWith(SIMULATED)) return null;
  const machine = await machineWithoutModels(args, runtime);
  const dir = repositoryOf(args);
  const control = args['model-control'];
  const { noModels, scanRepository } = await import('../live/models/scan.js');
  const { versions, problems } = scanRepository(dir, runtime.precision);
  const mayBeEmpty = control === 'explicit' || control === 'poll';
  if (!mayBeEmpty && versions.length === 0 && problems.length === 0) throw noModels(dir);
  const { PreparedModels } = await import('../serve/prepared-models.js');
  const prepared = new PreparedModels();
  const [device] = machine.devices as OrtDeviceSpec[];
  const prepare = { device, pageBytes: machine.pageBytes, cacheDir: args['cache-dir'] ?? null };
  return {
    machine: { ...machine, models: [], source: prepared },
    deployment: {
      dir,
      precision: runtime.precision,
      prepare,
      prepared,
      control,
      names: args['load-model'],
      pollNs: args['poll-interval'] ?? POLL_NS,
      idleNs: args['idle-unload'],
      isStrict: args.strict,
    },
  };
}

/** Flags that only one way of choosing models takes. Throws `E_USAGE`. */
function checkControl({
  'model-control': control,
  'load-model': [named],
  'poll-interval': pollNs,
}: DeploymentArgs): void {
  if (named !== undefined && control !== 'explicit') {
    const what = 'only --model-control explicit loads models by name';
    throw new EscapementError(
      'E_USAGE',
      `--load-model ${named}: ${what}; ${control} starts with every model`,
    );
  }
  if (pollNs !== undefined && control !== 'poll')
    throw new EscapementError('E_USAGE', '--poll-interval has an effect only with --model-control poll');
}

/** Time between two looks at a repository, unless --poll-interval gives it. */
const POLL_NS = 15 * NS_PER_S;

async function machineWithoutModels(
  args: MachineArgs,
  runtime: RuntimeSettings,
): Promise<Omit<MachineOptions, 'models'>> {
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
  return { devices, pages, pageBytes };
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

async function machineModels(
  args: MachineArgs,
  { devices: [device], pageBytes }: Pick<MachineOptions, 'devices' | 'pageBytes'>,
  { precision }: RuntimeSettings,
  onProgress: (what: string) => void,
  isStrict: boolean,
): Promise<MachineOptions['models']> {
  if (device.kind === 'simulated') {
    const { simulatedModels } = await import('../serve/simulated-models.js');
    const paths = args.device.slice(SIMULATED.length).split(',');
    const profiles = await Promise.all(paths.map((path) => readProfile(path)));
    return simulatedModels(profiles, args.copies, pageBytes, device.timeScale);
  }
  const dir = repositoryOf(args);
  const { repositoryModels } = await import('../serve/repository-models.js');
  const cacheDir = args['cache-dir'] ?? null;
  return repositoryModels(dir, device, pageBytes, onProgress, { precision, cacheDir, isStrict });
}

function repositoryOf({ repository }: MachineArgs): string {
  if (repository !== undefined) return repository;
  throw new EscapementError(
    'E_USAGE',
    '--repository FOLDER is required, unless with --device simulated:PROFILE',
  );
}
