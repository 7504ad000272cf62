import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import type { Experiment } from '../config/experiment.js';
import { ON_DISK } from '../config/files-on-disk.js';
import { profileFileName } from '../config/profile-file.js';
import { readProfile } from '../config/read-profile.js';
import type { DeviceSpec, OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { measureBatching, withBatching } from '../live/models/measure/batching.js';
import { optimizeModel } from '../live/models/optimize.js';
import { type RepositoryModel, readModelFile } from '../live/models/repository.js';
import { checkOf, suits } from './batching.js';
import { sessionSettings } from './session-settings.js';
import { simulatedModel } from './simulated-models.js';

/** The devices that an experiment asks for, one a GPU. Throws `E_CONFIG_VALUE` for GPUs of several kinds. */
export function experimentDevices({ live, cluster, runtime, file }: Experiment): DeviceSpec[] {
  const { device, timeScale } = live;
  if (cluster.kinds.length > 1) {
    const kinds = cluster.kinds.map(({ name }) => name).join(', ');
    const what = `live mode runs GPUs of one kind, found ${kinds}: simulate, or give the number of GPUs`;
    throw new EscapementError('E_CONFIG_VALUE', what, { file, key: 'cluster.gpus' });
  }
  return Array.from({ length: cluster.gpus }, (_, gpu) =>
    device === 'simulated'
      ? { kind: device, timeScale }
      : { kind: device, adapter: device === 'cuda' ? gpu : 0, session: sessionSettings(runtime) },
  );
}

/**
 * The models of an experiment for a live run: real ones with their weights, for a simulated device those that their
 * profiles describe. Throws `E_CONFIG_VALUE` for models without weights on a real device.
 */
export async function experimentModels(experiment: Experiment): Promise<WorkerModel[]> {
  const { live, models, modelFiles } = experiment;
  const { device } = live;
  if (device === 'simulated') return models.map((spec) => simulatedModel(spec, live.timeScale));
  const files = new Map<string, ReturnType<typeof openFile>>();
  const [ortDevice] = experimentDevices(experiment) as OrtDeviceSpec[];
  return Promise.all(
    models.map(async (spec, m) => {
      const file = modelFiles[m];
      if (file === null) {
        throw new EscapementError(
          'E_CONFIG_VALUE',
          `model ${spec.name} has a profile only: use a section of kind onnx, or live.device: simulated`,
          { file: experiment.file, key: 'models' },
        );
      }
      const key = [file, ...spec.batchSizes].join();
      const opened = files.get(key) ?? openFile(file, ortDevice, spec.batchSizes);
      files.set(key, opened);
      const { model, ortPath, what } = await opened;
      if (!model.signature.batched && spec.batchSizes.length > 1) {
        throw new EscapementError(
          'E_CONFIG_VALUE',
          `model ${spec.name} takes no batches (${what}): measure it again, or write batchSizes: [1]`,
          { file: experiment.file, key: 'models' },
        );
      }
      return { spec, signature: model.signature, version: model.version, sloNs: null, ortPath };
    }),
  );
}

/** `batchSizes`: those that the experiment uses. `what`: why the model is not batched, if so. */
async function openFile(file: string, device: OrtDeviceSpec, batchSizes: readonly number[]) {
  const model = { ...(await readModelFile(file)), batchSizes };
  const { ortPath } = await optimizeModel(file, device.kind);
  const check = model.batchIsUnchecked
    ? ((await measuredCheck(model, device)) ?? (await measureBatching({ ...model, ortPath, device })))
    : null;
  const what = check?.what ?? 'its first dimension has a fixed size, or its config.yaml says so';
  return { model: withBatching(model, check), ortPath, what };
}

/** What was found when the model was measured; null: it was not, or another model was. */
async function measuredCheck(model: RepositoryModel, device: OrtDeviceSpec) {
  const path = join(dirname(model.onnxPath), profileFileName(device));
  const profile = existsSync(path) ? await readProfile(path, ON_DISK) : null;
  return profile !== null && suits(profile, model) ? checkOf(model, profile) : null;
}
