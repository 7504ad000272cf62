import { EscapementError } from '../base/errors.js';
import type { DeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import type { ScalingSubject } from '../tools/bench/scaling/subject.js';
import { experimentSubject, machineSubject, type SubjectArgs } from './bench-subject.js';

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
