import type { ScalingSubject } from '../bottleneck/scaling/subject.js';
import { EscapementError } from '../core/errors.js';
import { loadExperiment } from '../experiment/load.js';
import { readServerSettings } from '../experiment/server-settings.js';
import type { DeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import type { SubjectArgs } from './bench-subject.js';
import { machineFlags, machineOptions } from './machine-flags.js';
import { settingsSources } from './runtime-flags.js';

export interface ScalingSubjectArgs extends SubjectArgs {
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
  throw new EscapementError('E_USAGE', '--tensors none: real models need theirs: add --emulate');
}

async function emulated(subject: ScalingSubject): Promise<ScalingSubject> {
  const { simulatedModel } = await import('../serving/simulated-models.js');
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
  const { repository, experiment, device = machineFlags.device.default } = args;
  if (repository !== undefined || device.startsWith('simulated:')) {
    return machineSubject({ ...args, device }, gpus, say);
  }
  if (experiment !== undefined) return experimentSubject(args, experiment, gpus);
  throw new EscapementError(
    'E_USAGE',
    'name what to scale: --device simulated:PROFILE, --repository DIR, or --experiment FILE',
  );
}

async function machineSubject(
  args: ScalingSubjectArgs & { readonly device: string },
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { repository, device, adapter } = args;
  const { settings, originOf } = await readServerSettings(settingsSources(args));
  const machine = await machineOptions(
    {
      repository,
      device,
      adapter,
      gpus: String(gpus),
      memory: undefined,
      'page-size': machineFlags['page-size'].default,
      copies: '1',
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

async function experimentSubject(
  args: ScalingSubjectArgs,
  file: string,
  gpus: number,
): Promise<ScalingSubject> {
  const { workloadMix } = await import('../bottleneck/mix.js');
  const { experimentDevices, experimentModels } = await import('../serving/experiment-models.js');
  const { overrides, environment } = settingsSources(args);
  const device = args.device === undefined ? [] : [`live.device=${args.device}`];
  const cluster = [`cluster.gpus=${gpus}`];
  const experiment = await loadExperiment(file, [...overrides, ...device, ...cluster], environment);
  const { name, sloNs, policy, admission, runtime } = experiment;
  return {
    name,
    devices: experimentDevices(experiment),
    models: await experimentModels(experiment),
    pages: experiment.cluster.pages,
    pageBytes: experiment.cluster.pageBytes,
    settings: { sloNs, policy, admission, runtime },
    mix: await workloadMix(experiment),
    sloNs,
  };
}
