import { basename, dirname, join, resolve } from 'pathe';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { ExperimentHost } from './experiment-host.js';
import { refuse } from './fields.js';
import type { Profile } from './profile.js';
import { readProfile } from './read-profile.js';
import { RUNTIME_SETTINGS } from './runtime-settings.js';
import type { RuntimeSettings } from './schema-runtime.js';

/** Name of a model's file in the folder of its version. */
const MODEL_FILE = 'model.onnx';

/**
 * ONNX file denoted by `path`: itself, or for the folder of a model in a repository (`NAME/VERSION/model.onnx`) that of
 * its highest version, which may be in a folder `model.onnx` with its weights. The FP16 model is in a folder `fp16`
 * next to the FP32 one. The file need not exist: a simulation does without it.
 */
export async function onnxFile(
  path: string,
  precision: RuntimeSettings['precision'],
  host: ExperimentHost,
): Promise<string> {
  const ofPrecision = precision === 'fp32' ? '' : precision;
  if (path.endsWith('.onnx')) {
    return basename(dirname(path)) === precision ? path : join(dirname(path), ofPrecision, basename(path));
  }
  const versions = (await host.entries(path)).filter((entry) => /^\d+$/.test(entry));
  const highest = versions.sort((a, b) => Number(b) - Number(a))[0] ?? '1';
  const file = join(path, highest, ofPrecision, MODEL_FILE);
  return (await host.entries(file)).includes(MODEL_FILE) ? join(file, MODEL_FILE) : file;
}

/** Name of a model in a repository, as its servers know it; null if the file is elsewhere. */
export function repositoryName(file: string): string | null {
  const parts = resolve(file).split('/').slice(0, -1);
  if (parts.at(-1)?.endsWith('.onnx')) parts.pop();
  if (parts.at(-1) === 'fp16') parts.pop();
  return /^\d+$/.test(parts.at(-1) ?? '') ? (parts.at(-2) ?? null) : null;
}

/** Reads the default profile of a model. Throws `E_FILE_MISSING` at `place` with the command that makes it. */
export async function readMeasuredProfile(
  modelFile: string,
  device: MeasuredDevice,
  place: ErrorPlace,
  host: ExperimentHost,
): Promise<Profile> {
  const path = join(dirname(modelFile), profileFileName(device));
  return readProfile(path, host).catch((error) => {
    if (!(error instanceof EscapementError) || error.code !== 'E_FILE_MISSING') throw error;
    throw new EscapementError(
      'E_FILE_MISSING',
      `${path}: no such file: measure the model first, with: escapement profile measure ${modelFile} --device ${device.kind}${settingFlags(device.session)}`,
      place,
    );
  });
}

/** The profile restricted to these batch sizes. Throws `E_CONFIG_VALUE` at `place` for sizes that were not measured. */
export function restrictBatches(profile: Profile, sizes: readonly number[], place: ErrorPlace): Profile {
  const known = profile.batches.map(({ batch }) => batch);
  const unknown = sizes.find((size) => !known.includes(size));
  if (unknown !== undefined || !sizes.includes(1)) {
    const what =
      unknown === undefined
        ? 'must contain 1'
        : `batch size ${unknown} was not measured; there are ${known.join(', ')}`;
    refuse(what, place);
  }
  const { shorter } = profile;
  const used = (batches: Profile['batches']) => batches.filter(({ batch }) => sizes.includes(batch));
  return {
    ...profile,
    batches: used(profile.batches),
    ...(shorter && { shorter: shorter.map((one) => ({ ...one, batches: used(one.batches) })) }),
  };
}

/** Settings that affect the duration of an INFER. */
const SETTINGS = [
  'intraOpThreads',
  'interOpThreads',
  'arena',
  'memoryPattern',
  'storageBufferCache',
] as const satisfies (keyof RuntimeSettings)[];

/** Device of a measurement, as far as durations depend on it. */
export interface MeasuredDevice {
  /** A provider of onnxruntime. */
  readonly kind: string;
  readonly adapter: number;
  readonly session: Pick<RuntimeSettings, (typeof SETTINGS)[number]>;
}

/**
 * Name of the profile of a model on a device, next to its `model.onnx`: `profile.cpu.json` with default settings, and
 * more words for others that change durations, so that a model keeps one profile for each.
 */
export function profileFileName({ kind, adapter, session }: MeasuredDevice): string {
  const { intraOpThreads, interOpThreads, arena, memoryPattern, storageBufferCache } = session;
  const onCpu = [
    intraOpThreads === 1 ? '' : `${intraOpThreads}`,
    interOpThreads === 1 ? '' : `inter${interOpThreads}`,
    arena ? '' : 'noarena',
  ];
  const onGpu = [
    adapter === 0 ? '' : `${adapter}`,
    kind === 'webgpu' && storageBufferCache !== 'bucket' ? storageBufferCache : '',
  ];
  const words = [kind, ...(kind === 'cpu' ? onCpu : onGpu), memoryPattern ? '' : 'nopattern'];
  return `profile.${words.filter((word) => word !== '').join('-')}.json`;
}

/** Flags of the command that measures with these settings, each preceded by a space. */
export function settingFlags(session: MeasuredDevice['session']): string {
  return SETTINGS.map((key) => {
    const value = String(session[key]);
    const isDefault = RUNTIME_SETTINGS.some((setting) => setting.key === key && setting.default === value);
    return isDefault ? '' : ` --set 'runtime.${key}=${value}'`;
  }).join('');
}
