import type { Subject } from '../bottleneck/subject.js';
import { EscapementError } from '../core/errors.js';
import { loadExperiment } from '../experiment/load.js';
import { readServerSettings } from '../experiment/server-settings.js';
import type { DeviceSpec, OrtDeviceSpec } from '../live/device.js';
import { provider } from './device-flags.js';
import { machineFlags, machineOptions } from './machine-flags.js';
import { type SettingsArgs, settingsSources } from './runtime-flags.js';

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
  if (args.repository !== undefined) return repositorySubject(args, args.repository, say);
  if (args.experiment !== undefined) return experimentSubject(args, args.experiment);
  throw new EscapementError(
    'E_USAGE',
    'name what to measure: --repository DIR, or --experiment FILE with models of kind onnx',
  );
}

async function repositorySubject(
  args: SubjectArgs,
  repository: string,
  say: (what: string) => void,
): Promise<Subject> {
  const { settings, originOf } = await readServerSettings(settingsSources(args));
  const { device = machineFlags.device.default, adapter } = args;
  const machine = await machineOptions(
    {
      repository,
      device,
      adapter,
      gpus: '1',
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
    name: repository,
    device: realDevice(machine.devices[0]),
    settings,
    mix: models.map(() => 1 / models.length),
    sloNs: originOf('slo') === null ? null : settings.sloNs,
    batchSize: null,
  };
}

async function experimentSubject(args: SubjectArgs, file: string): Promise<Subject> {
  const { workloadMix } = await import('../bottleneck/mix.js');
  const { experimentDevices, experimentModels } = await import('../serving/experiment-models.js');
  const { overrides, environment } = settingsSources(args);
  const device = args.device === undefined ? [] : [`live.device=${args.device}`];
  const experiment = await loadExperiment(file, [...overrides, ...device], environment);
  const { name, sloNs, policy, admission, runtime, cluster } = experiment;
  const [gpu] = experimentDevices(experiment);
  return {
    name,
    device: realDevice(gpu),
    models: await experimentModels(experiment),
    pages: cluster.pages,
    pageBytes: cluster.pageBytes,
    settings: { sloNs, policy, admission, runtime },
    mix: await workloadMix(experiment),
    sloNs,
    batchSize: null,
  };
}

function realDevice(device: DeviceSpec): OrtDeviceSpec {
  if (device.kind !== 'simulated') return device;
  throw new EscapementError(
    'E_USAGE',
    'the experiment runs on a simulated device, which has no speed to measure: give --device cpu, or another',
  );
}
