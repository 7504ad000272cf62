import { EscapementError } from '../base/errors.js';
import { NS_PER_MS } from '../base/units.js';
import type { Experiment } from '../config/experiment.js';
import type { LiveDevice } from '../config/schema-runtime.js';
import { type ModelSpec, timesOn } from '../core/model.js';
import type { DeviceSpec, OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { measureBatching, withBatching } from '../live/models/measure/measure.js';
import { optimizeModel } from '../live/models/optimize.js';
import { readModelFile } from '../live/models/repository.js';
import { limitRuntimeCalls } from '../live/ort/runtime-limit.js';
import type { MachineOptions } from '../live/worker/local-machine.js';
import { checkOf, findProfile } from './profiles.js';
import { scaledSpec, simulatedModel } from './simulated-models.js';

/**
 * Machines of an experiment for a live run, one per kind of GPU, with its models: real ones with their weights, for a
 * simulated device as their profiles describe. Throws `E_CONFIG_VALUE` for models without weights on a real device.
 */
export async function experimentMachines(experiment: Experiment): Promise<MachineOptions[]> {
  const { cluster, live, runtime } = experiment;
  limitRuntimeCalls(runtime.prepareLimit / NS_PER_MS);
  const deviceOf = ({ device }: { readonly device: LiveDevice | null }) => device ?? live.device;
  const real = cluster.kinds.map(deviceOf).find((device) => device !== 'simulated') ?? null;
  const machines: MachineOptions[] = [];
  const adapters = new Map<LiveDevice, number>();
  for (const [k, kind] of cluster.kinds.entries()) {
    const device = deviceOf(kind);
    const first = adapters.get(device) ?? 0;
    adapters.set(device, first + kind.gpus);
    const devices = Array.from({ length: kind.gpus }, (_, gpu) =>
      deviceSpec(experiment, device, first + gpu),
    );
    machines.push({
      ...(kind.name === null ? {} : { kind: kind.name }),
      devices,
      models: await modelsOfKind(experiment, k, { device, real }),
      pages: kind.pages,
      pageBytes: cluster.pageBytes,
    });
  }
  return machines;
}

function deviceSpec({ live, runtime }: Experiment, device: LiveDevice, adapter: number): DeviceSpec {
  if (device === 'simulated') return { kind: device, timeScale: live.timeScale };
  return { kind: device, adapter: device === 'cuda' ? adapter : 0, session: runtime };
}

interface KindDevices {
  readonly device: LiveDevice;
  /** A kind that is not simulated, and so determines the inputs and outputs; null: all are simulated. */
  readonly real: Exclude<LiveDevice, 'simulated'> | null;
}

async function modelsOfKind(
  experiment: Experiment,
  kind: number,
  { device, real }: KindDevices,
): Promise<WorkerModel[]> {
  const { live, models } = experiment;
  const specs = models.map(({ otherKinds, ...spec }, m) => ({ ...spec, ...timesOf(models[m], kind) }));
  if (real === null) return specs.map((spec) => simulatedModel(spec, live.timeScale));
  const executed = device === 'simulated' ? real : device;
  const ortDevice = deviceSpec(experiment, executed, 0) as OrtDeviceSpec;
  const found = await realModels(experiment, specs, ortDevice);
  if (device !== 'simulated') return found;
  return found.map((model) => ({ ...model, spec: scaledSpec(model.spec, live.timeScale) }));
}

function timesOf(model: ModelSpec, kind: number) {
  const { loadNs, execNs, execNsByLength } = timesOn(model, kind);
  return { loadNs, execNs, ...(execNsByLength && { execNsByLength }) };
}

async function realModels(
  { modelFiles, file: experimentFile }: Experiment,
  specs: readonly ModelSpec[],
  ortDevice: OrtDeviceSpec,
): Promise<WorkerModel[]> {
  const files = new Map<string, ReturnType<typeof openFile>>();
  return Promise.all(
    specs.map(async (spec, m) => {
      const file = modelFiles[m];
      if (file === null) {
        throw new EscapementError(
          'E_CONFIG_VALUE',
          `model ${spec.name} has a profile only: use a section of kind onnx, or live.device: simulated`,
          { file: experimentFile, key: 'models' },
        );
      }
      const key = [file, ...spec.batchSizes].join();
      const opened = files.get(key) ?? openFile(file, ortDevice, spec.batchSizes);
      files.set(key, opened);
      const { model, ortPath, what } = await opened;
      if (!model.signature.batched && !model.signature.stackable && spec.batchSizes.length > 1) {
        throw new EscapementError(
          'E_CONFIG_VALUE',
          `model ${spec.name} takes no batches (${what}): measure it again, or write batchSizes: [1]`,
          { file: experimentFile, key: 'models' },
        );
      }
      const served = { spec, signature: model.signature, version: model.version, sloNs: null, ortPath };
      checkLengths(served, experimentFile);
      return served;
    }),
  );
}

function checkLengths({ spec, signature }: WorkerModel, file: string): void {
  const { lengths: { buckets } = {}, stackable = false } = signature;
  if (spec.equalLengths === true ? stackable : `${spec.lengths}` === `${buckets}`) return;
  const text = (lengths: readonly number[] = []) => (lengths.length === 0 ? 'none' : lengths.join(', '));
  const what = `model ${spec.name} was measured with the lengths ${text(spec.lengths)}, and its config.yaml has the buckets ${text(buckets)}, padded as it says: measure it again`;
  throw new EscapementError('E_CONFIG_VALUE', what, { file, key: 'models' });
}

/** `batchSizes`: those that the experiment uses. `what`: reason why the model is not batched, if any. */
async function openFile(file: string, device: OrtDeviceSpec, batchSizes: readonly number[]) {
  const model = { ...(await readModelFile(file)), batchSizes };
  const { ortPath } = await optimizeModel(file, device.kind);
  const known = model.batchIsUnchecked ? (await findProfile(model, device, null)).profile : null;
  const found = known === null ? null : checkOf(model, known);
  const check = model.batchIsUnchecked
    ? (found ?? (await measureBatching({ ...model, ortPath, device })))
    : null;
  const what = check?.what ?? 'its first dimension has a fixed size, or its config.yaml says so';
  return { model: withBatching(model, check), ortPath, what };
}
