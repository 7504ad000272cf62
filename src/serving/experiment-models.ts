import { EscapementError } from '../core/errors.js';
import type { Experiment } from '../experiment/experiment.js';
import type { DeviceSpec, Provider } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { optimizeModel } from '../live/models/optimize.js';
import { type RepositoryModel, readModelFile } from '../live/models/repository.js';
import { sessionSettings } from './session-settings.js';
import { simulatedModel } from './simulated-models.js';

/** The devices that an experiment asks for, one a GPU. */
export function experimentDevices({ live, cluster, runtime }: Experiment): DeviceSpec[] {
  const { device, timeScale } = live;
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
  const files = new Map<string, Promise<{ readonly model: RepositoryModel; readonly ortPath: string }>>();
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
      const opened = files.get(file) ?? openFile(file, device);
      files.set(file, opened);
      const { model, ortPath } = await opened;
      return { spec, signature: model.signature, version: model.version, sloNs: null, ortPath };
    }),
  );
}

async function openFile(file: string, kind: Provider) {
  const model = await readModelFile(file);
  const { ortPath } = await optimizeModel(file, kind);
  return { model, ortPath };
}
