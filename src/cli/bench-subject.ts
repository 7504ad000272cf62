import type { ScalingSubject } from '../bottleneck/scaling/subject.js';
import type { Subject } from '../bottleneck/subject.js';
import { EscapementError } from '../core/errors.js';
import { loadExperiment } from '../experiment/load.js';
import { readServerSettings } from '../experiment/server-settings.js';
import type { DeviceSpec, OrtDeviceSpec } from '../live/device.js';
import { provider } from './device-flags.js';
import { experimentWarnings, warningsOf } from './live-settings.js';
import { machineFlags, machineOptions } from './machine-flags.js';
import { type SettingsArgs, settingsSources } from './runtime-flags.js';

/**
 * What holds unless an experiment file is given: where everything is busy, an INFER begins late. That costs time, which
 * is measured, rather than the request.
 */
const DEFAULTS = ['policy.latestDelta=1s'];

/** Flags that say what is measured. */
export interface SubjectArgs extends SettingsArgs {
  readonly repository: string | undefined;
  readonly device: string | undefined;
  readonly adapter: string;
}

/**
 * What `serve` would run with these flags, of one GPU: the models of a repository in equal shares, or those of an
 * experiment in the shares of its workload. `say` takes lines for the operator. Throws coded errors.
 */
export async function openSubject(args: SubjectArgs, say: (what: string) => void): Promise<Subject> {
  if (args.device !== undefined) provider(args.device);
  const { devices, ...served } = await openOnOne(args, say);
  return { ...served, device: realDevice(devices[0]), batchSize: null };
}

async function openOnOne(args: SubjectArgs, say: (what: string) => void): Promise<ScalingSubject> {
  const { repository, experiment } = args;
  if (repository !== undefined) return machineSubject(args, 1, say);
  if (experiment !== undefined) return experimentSubject(args, experiment, 1, say);
  throw new EscapementError(
    'E_USAGE',
    'name what to measure: --repository DIR, or --experiment FILE with models of kind onnx',
  );
}

/** The models of a repository, or the profiles of simulated devices, on so many GPUs. Throws coded errors. */
export async function machineSubject(
  args: SubjectArgs,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { repository, device = machineFlags.device.default, adapter } = args;
  const set = args.experiment === undefined ? [...DEFAULTS, ...args.set] : args.set;
  const loaded = await readServerSettings(settingsSources({ ...args, set }));
  for (const warning of warningsOf(loaded)) say(`warning: ${warning}`);
  const { settings, originOf } = loaded;
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

/** The models of an experiment on so many GPUs, in the shares of its workload. Throws coded errors. */
export async function experimentSubject(
  args: SubjectArgs,
  file: string,
  gpus: number,
  say: (what: string) => void,
): Promise<ScalingSubject> {
  const { workloadMix } = await import('../bottleneck/mix.js');
  const { experimentDevices, experimentModels } = await import('../serving/experiment-models.js');
  const { overrides, environment } = settingsSources(args);
  const device = args.device === undefined ? [] : [`live.device=${args.device}`];
  const cluster = [`cluster.gpus=${gpus}`];
  const experiment = await loadExperiment(file, [...overrides, ...device, ...cluster], environment);
  for (const warning of await experimentWarnings(file, overrides)) say(`warning: ${warning}`);
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

function realDevice(device: DeviceSpec): OrtDeviceSpec {
  if (device.kind !== 'simulated') return device;
  throw new EscapementError(
    'E_USAGE',
    'the experiment runs on a simulated device, which has no speed to measure: give --device cpu, or another',
  );
}
