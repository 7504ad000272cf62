import { EscapementError } from '../base/errors.js';
import { MIB } from '../base/units.js';
import { loadExperiment } from '../config/load.js';
import { readServerSettings } from '../config/server-settings.js';
import { type DeviceSpec, type OrtDeviceSpec, PROVIDERS } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import type { ScalingSubject, Subject } from '../tools/bench/subject.js';
import { experimentWarnings, type SettingsArgs, settingsSources, warningsOf } from './live-settings.js';
import { completeMachine } from './machine.js';

/** As in `serve`. */
const PAGE_BYTES = 16 * MIB;

/** Flags that select what is measured. */
interface SubjectArgs extends SettingsArgs {
  readonly repository: string | undefined;
  readonly device: string | undefined;
  readonly adapter: number;
}

/**
 * What `serve` would run with these flags, of one GPU: the models of a repository in equal shares, or those of an
 * experiment in the shares of its workload. `say` takes lines for the operator. Throws coded errors.
 */
export async function openSubject(args: SubjectArgs, say: (what: string) => void): Promise<Subject> {
  if (args.device !== undefined) checkProvider(args.device);
  const { devices, ...served } = await openOnOne(args, say);
  return { ...served, device: realDevice(devices[0]), batchSize: null };
}

async function openOnOne(args: SubjectArgs, say: (what: string) => void): Promise<ScalingSubject> {
  const { repository, experiment } = args;
  if (repository !== undefined) return machineSubject(args, 1, say);
  if (experiment !== undefined) return experimentSubject(args, experiment, 1, say);
  throw new EscapementError(
    'E_USAGE',
    'nothing to measure: give --repository FOLDER, or --experiment FILE with models of kind onnx',
  );
}

/** The models of a repository, or the profiles of simulated devices, on this many GPUs. Throws coded errors. */
async function machineSubject(
  args: SubjectArgs,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { repository, device = 'cpu', adapter } = args;
  const loaded = await readServerSettings(settingsSources(args));
  for (const warning of warningsOf(loaded)) say(`warning: ${warning}`);
  const { settings, originOf } = loaded;
  const machine = await completeMachine(
    {
      'cache-dir': undefined,
      repository,
      device,
      adapter,
      gpus,
      memory: undefined,
      'page-size': PAGE_BYTES,
      copies: 1,
      'time-scale': '1',
    },
    settings.runtime,
    say,
  );
  const { models } = machine;
  return {
    ...machine,
    name: repository ?? models.map(({ spec }) => spec.name).join(', '),
    settings,
    mix: models.map(() => 1 / models.length),
    sloNs: originOf('slo') === null ? null : settings.sloNs,
  };
}

/** The models of an experiment on this many GPUs, in the shares of its workload. Throws coded errors. */
async function experimentSubject(
  args: SubjectArgs,
  file: string,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { workloadMix } = await import('../tools/bench/subject.js');
  const { experimentMachines } = await import('../serve/experiment-models.js');
  const { overrides, environment } = settingsSources(args);
  const device = args.device === undefined ? [] : [`live.device=${args.device}`];
  const cluster = [`cluster.gpus=${gpus}`];
  const experiment = await loadExperiment(file, [...overrides, ...device, ...cluster], [], environment);
  for (const warning of await experimentWarnings(file, overrides)) say(`warning: ${warning}`);
  const { name, sloNs, policy, admission, padding, classes, tenants, runtime } = experiment;
  // Its GPUs are a number: of one kind.
  const [machine] = await experimentMachines(experiment);
  return {
    name,
    ...machine,
    settings: { sloNs, policy, admission, padding, classes, tenants, runtime },
    mix: await workloadMix(experiment),
    sloNs,
  };
}

function realDevice(device: DeviceSpec): OrtDeviceSpec {
  if (device.kind !== 'simulated') return device;
  throw new EscapementError(
    'E_USAGE',
    'the experiment uses a simulated device, whose speed cannot be measured: give --device, e.g. --device cpu',
  );
}

function checkProvider(text: string): void {
  if (PROVIDERS.some((name) => name === text)) return;
  throw new EscapementError('E_USAGE', `--device ${text}: must be one of ${PROVIDERS.join(', ')}`);
}

interface ScalingSubjectArgs extends SubjectArgs {
  /** GPUs that take as long as the models' profiles say stand in for the device. */
  readonly emulate: boolean;
  /** `none`: requests carry no tensors, and no answers; only where GPUs are emulated. */
  readonly tensors: 'real' | 'none';
}

const EMULATED: DeviceSpec = { kind: 'simulated', timeScale: 1 };

/**
 * What is spread over at most `gpus` GPUs: profiles on emulated ones, the models of a repository, or those of an
 * experiment. `say` takes lines for the operator. Throws coded errors.
 */
export async function openScalingSubject(
  args: ScalingSubjectArgs,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const real = await openReal(args, gpus, say);
  const subject = args.emulate ? await emulated(real) : real;
  if (args.tensors === 'real') return subject;
  if (subject.devices[0].kind === 'simulated') return withoutTensors(subject);
  throw new EscapementError('E_USAGE', '--tensors none: real models need tensors; add --emulate');
}

async function emulated(subject: ScalingSubject): Promise<ScalingSubject> {
  const { simulatedModel } = await import('../serve/simulated-models.js');
  return {
    ...subject,
    devices: subject.devices.map(() => EMULATED),
    models: subject.models.map(({ spec }): WorkerModel => simulatedModel(spec, 1)),
  };
}

function withoutTensors(subject: ScalingSubject): ScalingSubject {
  const models = subject.models.map((model) => ({
    ...model,
    spec: { ...model.spec, inputBytes: 0, outputBytes: 0 },
    signature: { ...model.signature, inputs: [], outputs: [] },
  }));
  return { ...subject, models };
}

async function openReal(
  args: ScalingSubjectArgs,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { repository, experiment, device } = args;
  if (repository !== undefined || device?.startsWith('simulated:')) return machineSubject(args, gpus, say);
  if (experiment !== undefined) return experimentSubject(args, experiment, gpus, say);
  throw new EscapementError(
    'E_USAGE',
    'nothing to scale: give --device simulated:PROFILE, --repository FOLDER, or --experiment FILE',
  );
}
