import { MIB } from '../base/units.js';
import { loadExperiment } from '../config/load.js';
import { readServerSettings } from '../config/server-settings.js';
import { PROVIDERS } from '../live/device.js';
import type { ScalingSubject, Subject } from '../tools/bench/subject.js';
import { experimentWarnings, type SettingsArgs, settingsSources, warningsOf } from './live-settings.js';
import { completeMachine } from './machine.js';
import { usageError } from './options.js';

/** Page size of `serve`. */
const PAGE_BYTES = 16 * MIB;

/** Flags that select the benchmarked models. */
interface SubjectArgs extends SettingsArgs {
  readonly repository: string | undefined;
  readonly device: string | undefined;
  readonly adapter: number;
}

interface ScalingSubjectArgs extends SubjectArgs {
  /** Replaces the device with GPUs that take the time of the models' profiles. */
  readonly emulate: boolean;
  /** `none`: requests and answers carry no tensors; only with emulated GPUs. */
  readonly tensors: 'real' | 'none';
}

/**
 * Models that `serve` would run with these flags, on one GPU: those of a repository in equal shares, or those of an
 * experiment in the shares of its workload. `say` gets lines for the operator. Throws coded errors.
 */
export async function openSubject(args: SubjectArgs, say: (what: string) => void): Promise<Subject> {
  const { device } = args;
  if (device !== undefined && !PROVIDERS.some((name) => name === device))
    throw usageError(`--device ${device}: must be one of ${PROVIDERS.join(', ')}`);
  const { devices, ...served } = await openServed(args, 1, say);
  const [first] = devices;
  if (first.kind !== 'simulated') return { ...served, device: first, batchSize: null };
  throw usageError(
    'the experiment uses a simulated device, whose speed cannot be measured: give --device, e.g. --device cpu',
  );
}

/**
 * Models to spread over at most `gpus` GPUs: profiles on emulated ones, the models of a repository, or those of an
 * experiment. `say` gets lines for the operator. Throws coded errors.
 */
export async function openScalingSubject(
  args: ScalingSubjectArgs,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { simulatedModel } = await import('../serve/simulated-models.js');
  let subject = await openServed(args, gpus, say);
  if (args.emulate)
    subject = {
      ...subject,
      devices: subject.devices.map(() => ({ kind: 'simulated', timeScale: 1 })),
      models: subject.models.map(({ spec }) => simulatedModel(spec, 1)),
    };
  if (args.tensors === 'real') return subject;
  if (subject.devices[0].kind !== 'simulated')
    throw usageError('--tensors none: real models need tensors; add --emulate');
  const models = subject.models.map((model) => ({
    ...model,
    spec: { ...model.spec, inputBytes: 0, outputBytes: 0 },
    signature: { ...model.signature, inputs: [], outputs: [] },
  }));
  return { ...subject, models };
}

async function openServed(
  args: SubjectArgs,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { repository, experiment, device } = args;
  if (repository !== undefined || device?.startsWith('simulated:')) return machineSubject(args, gpus, say);
  if (experiment !== undefined) return experimentSubject(args, experiment, gpus, say);
  throw usageError(
    'nothing to measure: give --repository FOLDER, --experiment FILE with models of kind onnx, or for --scaling --device simulated:PROFILE',
  );
}

/** Models of a repository, or profiles of simulated devices, on this many GPUs. Throws coded errors. */
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

/** Models of an experiment on this many GPUs, in the shares of its workload. Throws coded errors. */
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
  // `gpus` is a number, so they are of one kind.
  const [machine] = await experimentMachines(experiment);
  return {
    name,
    ...machine,
    settings: { sloNs, policy, admission, padding, classes, tenants, runtime },
    mix: await workloadMix(experiment),
    sloNs,
  };
}
