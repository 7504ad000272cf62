import { isAbsolute, resolve } from 'pathe';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import { mapExecNs } from '../core/lengths.js';
import type { ModelSpec, ModelTimes } from '../core/model.js';
import type { ModelSpread } from '../sim/spread.js';
import type { ClusterConfig } from './experiment.js';
import { type ExperimentHost, relativeTo } from './experiment-host.js';
import { refuse } from './fields.js';
import { fitModel } from './fit.js';
import { readModelsCsv } from './models-csv.js';
import {
  type MeasuredDevice,
  onnxFile,
  readMeasuredProfile,
  repositoryName,
  restrictBatches,
} from './onnx-model.js';
import { type Profile, profileModel } from './profile.js';
import { profileSpread, readProfile } from './read-profile.js';
import type { GpuKindConfig } from './schema-cluster.js';
import type { ModelsSection } from './schema-models.js';
import type { RuntimeSettings } from './schema-runtime.js';
import { formatBytes, formatCount } from './units-text.js';
import { zooModels } from './zoo.js';

/** Facts about the experiment needed by its sections. */
interface ModelsContext {
  /** The experiment file: paths are relative to its folder. */
  readonly file: string;
  readonly host: ExperimentHost;
  readonly cluster: ClusterConfig;
  /** Default device for the profiles of ONNX models, if the sections name none. */
  readonly device: MeasuredDevice;
  /** Selects the file of each ONNX model. */
  readonly precision: RuntimeSettings['precision'];
  /** Place of section `index`, or of one of its keys. */
  placeOf(index: number, key?: string): ErrorPlace;
  /** Called with estimates and suspicious figures. */
  warn(text: string): void;
}

/**
 * All models of the run, section by section in order. Throws errors of reading their files, `E_CONFIG_VALUE` if two
 * have the same name and `E_MODEL_TOO_LARGE` if one exceeds the weights cache.
 */
export async function buildModels(
  sections: readonly ModelsSection[],
  context: ModelsContext,
): Promise<BuiltModel[]> {
  const models: BuiltModel[] = [];
  const names = new Set<string>();
  for (const [index, section] of sections.entries()) {
    for (const model of await modelsOnKinds(section, context, index)) {
      const { name } = model.spec;
      if (names.has(name)) {
        refuse(`two models are named ${name}: give one section another name`, context.placeOf(index));
      }
      checkFits(model.spec, context, index);
      names.add(name);
      models.push(model);
    }
  }
  return models;
}

/** A model as measured on one kind of GPU, with facts of its section beyond the figures of the scheduler. */
interface KindModel {
  readonly spec: ModelSpec;
  /** Its ONNX file; null if there is none. */
  readonly file: string | null;
  /** Spread of its measured durations; null if not known. */
  readonly spread: ModelSpread | null;
  /** GPU on which this was measured, as its profile writes it; empty: none. */
  readonly gpu: string;
}

/** A model with its times on all kinds. */
interface BuiltModel extends Pick<KindModel, 'spec' | 'file'> {
  /** By kind. */
  readonly spreads: readonly (ModelSpread | null)[];
}

/**
 * Models of a section with their times on each kind of GPU: those measured there, or else those of the section itself
 * divided by the speed of the kind. Batch sizes are those of all kinds that have the models. Throws `E_CONFIG_VALUE` for
 * a kind that has neither.
 */
async function modelsOnKinds(
  section: ModelsSection,
  context: ModelsContext,
  index: number,
): Promise<BuiltModel[]> {
  const { kinds, kindNames } = context.cluster;
  const profiles: Readonly<Record<string, string>> = 'profiles' in section ? section.profiles : {};
  const named = [
    ...Object.keys(profiles).map((kind) => [kind, `profiles.${kind}`] as const),
    ...(section.gpus ?? []).map((kind) => [kind, 'gpus'] as const),
  ];
  for (const [kind, key] of named) {
    if (kindNames.includes(kind)) continue;
    const hint = kindNames.length === 0 ? 'cluster.gpus lists no kinds' : suggestion(kind, kindNames);
    const what = `no GPUs are of the kind "${kind}": ${hint}`;
    refuse(what, context.placeOf(index, key));
  }
  const notOn = kinds.flatMap(({ name }, k) => (section.gpus?.includes(name ?? '') === false ? k : []));
  if (notOn.length === kinds.length)
    refuse(
      'no GPU is of these kinds: add a kind with GPUs, or leave gpus out',
      context.placeOf(index, 'gpus'),
    );
  const own = await measured(section, context, index);
  const others: (readonly KindModel[] | null)[] = [];
  for (const [k, { name, device }] of kinds.entries()) {
    const path = name === null ? undefined : profiles[name];
    if (notOn.includes(k)) others.push(null);
    else if (path !== undefined)
      others.push(await measured(section, context, index, { path, key: `profiles.${name}` }));
    // ONNX models have separate profiles for each device.
    else if (section.kind === 'onnx' && ![null, 'simulated', context.device.kind].includes(device))
      others.push(await measured(section, context, index, { device: device! }));
    else others.push(null);
  }
  const place = context.placeOf(index);
  return own.map((model, i) => {
    const known = kinds.map((kind, k) =>
      notOn.includes(k) ? null : specOn(kind, model, i, others[k] ?? null, place),
    );
    for (const [k, one] of known.entries()) noteGpu(one?.gpu ?? '', kinds[k]!, context.warn);
    // Kinds without the model have times, too, which must not look better.
    const some = known.find((one) => one !== null)!;
    const onEach = known.map((one) => one ?? some);
    const built = combined(model, onEach, place, context.warn);
    return notOn.length === 0 ? built : { ...built, spec: { ...built.spec, notOn } };
  });
}

function modelNumbers(gpu: string): readonly string[] {
  return gpu.toLowerCase().match(/\b[a-z]+\d+\b/g) ?? [];
}

/** Notes durations of another GPU than that of a kind, if both names have a model number. */
function noteGpu(gpu: string, { name }: GpuKindConfig, warn: ModelsContext['warn']): void {
  const [known, wanted] = [modelNumbers(gpu), modelNumbers(name ?? '')];
  if (known.length === 0 || wanted.length === 0 || wanted.some((one) => known.includes(one))) return;
  warn(`durations measured on ${gpu} are taken for ${name}`);
}

/** A model on one kind of GPU, of which `measured` are the models that were measured separately; copies share one. */
function specOn(
  { name, speed }: GpuKindConfig,
  model: KindModel,
  index: number,
  measured: readonly KindModel[] | null,
  place: ErrorPlace,
): KindModel {
  const { spec } = model;
  const own =
    measured?.find((other) => other.spec.name === spec.name) ?? measured?.[measured.length === 1 ? 0 : index];
  if (own !== undefined) return own;
  if (measured !== null) refuse(`${spec.name} is not among the models of profiles.${name}`, place);
  if (speed !== null) return speed === 1 ? model : scaled(model, speed);
  const what = `${spec.name} was not measured on ${name}: give profiles.${name}, or ${name} a speed relative to the first kind`;
  refuse(what, place);
}

/** Differences between the measurements of a section: those of the section itself, or those on a kind of GPUs. */
interface Measurement {
  /** File in place of that of the section, and the key that names it. */
  readonly path?: string;
  readonly key?: string;
  /** Device whose profile of an ONNX model counts. */
  readonly device?: string;
}

async function measured(
  section: ModelsSection,
  context: ModelsContext,
  index: number,
  { path, key, device = context.device.kind }: Measurement = {},
): Promise<KindModel[]> {
  const { host, cluster, precision } = context;
  const { pageBytes } = cluster;
  const fileOf = (written: string) => relativeTo(context.file, written);
  const place = (of: string) => context.placeOf(index, of);
  const named = <T>(reading: Promise<T>, written: string, of: string) =>
    reading.catch(missingAt(fileOf(written), written, place(key ?? of)));
  switch (section.kind) {
    case 'csv': {
      const given = path ?? section.path;
      return (await named(readModelsCsv(fileOf(given), pageBytes, host), given, 'path')).map(unmeasured);
    }
    case 'profile': {
      const given = path ?? section.path;
      const profile = await named(readProfile(fileOf(given), host), given, 'path');
      return ofProfile(profile, null, section, pageBytes);
    }
    case 'onnx': {
      const file = await onnxFile(fileOf(section.path), precision, host);
      const given = path ?? (device === context.device.kind ? section.profile : undefined);
      const profile =
        given === undefined
          ? await readMeasuredProfile(file, { ...context.device, kind: device }, place('path'), host)
          : await named(readProfile(fileOf(given), host), given, 'profile');
      const { batchSizes } = section;
      const used =
        batchSizes === undefined ? profile : restrictBatches(profile, batchSizes, place('batchSizes'));
      return ofProfile(used, file, section, pageBytes);
    }
    case 'fit': {
      const name = section.name ?? `fit-${formatCount(section.parameters)}`;
      const model = fitModel({ name, parameters: section.parameters }, pageBytes);
      return copiesOf(model, section.copies).map(unmeasured);
    }
    case 'zoo':
      return zooModels(section.varieties, section.copies, pageBytes).map(unmeasured);
  }
}

function unmeasured(spec: ModelSpec): KindModel {
  return { spec, file: null, spread: null, gpu: '' };
}

function ofProfile(
  profile: Profile,
  file: string | null,
  { name, copies }: { readonly name?: string; readonly copies: number },
  pageBytes: number,
): KindModel[] {
  const spread = profileSpread(profile);
  // A copied folder may contain a profile with the name of the original.
  const own = file === null ? null : repositoryName(file);
  const specs = copiesOf(profileModel(profile, name ?? own ?? profile.name, pageBytes), copies);
  return specs.map((spec) => ({ spec, file, spread, gpu: profile.gpu }));
}

/** A missing file is reported where the experiment names it; other mistakes are in that file. */
function missingAt(file: string, written: string, place: ErrorPlace): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof EscapementError) || error.code !== 'E_FILE_MISSING') throw error;
    const hint = isAbsolute(written) ? '' : '; a relative path begins at the folder of the experiment file';
    throw new EscapementError(error.code, `${resolve(file)}: ${error.what}${hint}`, place);
  };
}

function copiesOf(model: ModelSpec, copies: number): ModelSpec[] {
  if (copies === 1) return [model];
  return Array.from({ length: copies }, (_, copy) => ({ ...model, name: `${model.name}-${copy}` }));
}

function checkFits(model: ModelSpec, context: ModelsContext, index: number): void {
  const { kinds, pageBytes } = context.cluster;
  const having = kinds.filter((_, k) => model.notOn?.includes(k) !== true);
  const largest = having.reduce((most, kind) => (kind.pages > most.pages ? kind : most));
  if (model.pages <= largest.pages) return;
  const gpu = largest.name === null ? 'a GPU' : `the largest GPU, ${largest.name},`;
  throw new EscapementError(
    'E_MODEL_TOO_LARGE',
    `model ${model.name} needs ${model.pages} pages of ${formatBytes(pageBytes)} and the weights cache of ${gpu} has ${largest.pages}: ` +
      (largest.name === null ? 'raise cluster.pages or cluster.memory' : 'give a kind more memory'),
    context.placeOf(index),
  );
}

function scaled({ spec, spread, ...rest }: KindModel, speed: number): KindModel {
  const faster = (ns: number) => Math.max(1, Math.round(ns / speed));
  return {
    spec: { ...spec, ...mapExecNs(spec, faster) },
    ...rest,
    gpu: '',
    spread: spread && { ...spread, switchNs: spread.switchNs.map((ns) => Math.round(ns / speed)) },
  };
}

function combined(
  model: KindModel,
  onEach: readonly KindModel[],
  place: ErrorPlace,
  warn: (text: string) => void,
): BuiltModel {
  const { file } = model;
  if (onEach.length === 1 && onEach[0] === model) return { spec: model.spec, file, spreads: [model.spread] };
  const specs = onEach.map(({ spec }) => spec);
  const other = specs.find(({ lengths }) => `${lengths}` !== `${model.spec.lengths}`);
  if (other !== undefined)
    refuse(
      `${model.spec.name} was measured with lengths ${listOf(model.spec)} on one kind of GPU and ${listOf(other)} on another: measure the same`,
      place,
    );
  const batchSizes = model.spec.batchSizes.filter((size) =>
    specs.every((spec) => spec.batchSizes.includes(size)),
  );
  const unused = new Set(
    specs.flatMap((spec) => spec.batchSizes.filter((size) => !batchSizes.includes(size))),
  );
  if (unused.size > 0)
    warn(
      `${model.spec.name}: batch sizes that were not measured on all kinds of GPUs are not used: ${[...unused].sort((a, b) => a - b).join(', ')}`,
    );
  const [first, ...others] = specs.map((spec) => timesAt(spec, batchSizes)) as [ModelTimes, ...ModelTimes[]];
  const spec = {
    ...model.spec,
    ...first,
    batchSizes,
    weightsBytes: Math.max(...specs.map(({ weightsBytes }) => weightsBytes)),
    pages: Math.max(...specs.map(({ pages }) => pages)),
    ...(others.length === 0 ? {} : { otherKinds: others }),
  };
  return { spec, file, spreads: onEach.map((one) => spreadAt(one, batchSizes)) };
}

function listOf({ lengths }: ModelSpec): string {
  return lengths === undefined ? 'of one value' : lengths.join(', ');
}

function timesAt(spec: ModelSpec, sizes: readonly number[]): ModelTimes {
  const { loadNs, batchSizes, execNs, execNsByLength } = spec;
  const used = (row: readonly number[]) => sizes.map((size) => row[batchSizes.indexOf(size)]!);
  return {
    loadNs,
    execNs: used(execNs),
    ...(execNsByLength && { execNsByLength: execNsByLength.map(used) }),
  };
}

function spreadAt({ spec, spread }: KindModel, sizes: readonly number[]): ModelSpread | null {
  if (spread === null) return null;
  const { batchSizes, lengths = [0] } = spec;
  const at = lengths.flatMap((_, bucket) =>
    sizes.map((size) => bucket * batchSizes.length + batchSizes.indexOf(size)),
  );
  return {
    load: spread.load,
    exec: at.map((b) => spread.exec[b] ?? null),
    switchNs: at.map((b) => spread.switchNs[b] ?? 0),
  };
}
