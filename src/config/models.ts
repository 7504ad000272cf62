import { isAbsolute, resolve } from 'pathe';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import { mapExecNs } from '../core/lengths.js';
import type { ModelSpec, ModelTimes } from '../core/model.js';
import type { ModelSpread } from '../sim/spread.js';
import type { ClusterConfig } from './experiment.js';
import { type ExperimentHost, relativeTo } from './experiment-host.js';
import { fitModel } from './fit.js';
import { type CsvModel, readModelsCsv } from './models-csv.js';
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
import type { LiveDevice, RuntimeSettings } from './schema-runtime.js';
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
        throw new EscapementError(
          'E_CONFIG_VALUE',
          `two models are named ${name}: give one section another name`,
          context.placeOf(index),
        );
      }
      checkFits(model.spec, context, index);
      names.add(name);
      models.push(model);
    }
  }
  return models;
}

/** Models of a section, with their measurements on each kind of GPU. */
async function modelsOnKinds(
  section: ModelsSection,
  context: ModelsContext,
  index: number,
): Promise<BuiltModel[]> {
  const { kinds, kindNames } = context.cluster;
  const measured = new Map<string, readonly KindModel[]>();
  for (const [kind, path] of Object.entries('profiles' in section ? section.profiles : {})) {
    const key = `profiles.${kind}`;
    checkKind(kind, kindNames, context.placeOf(index, key));
    measured.set(kind, await sectionModels(withFile(section, path), context, index, { kind, key }));
  }
  for (const { name, device } of kinds) {
    if (
      name === null ||
      device === null ||
      measured.has(name) ||
      !isMeasuredElsewhere(section, device, context)
    )
      continue;
    const { profile: _, ...same } = section;
    const elsewhere = { ...context, device: { ...context.device, kind: device } };
    measured.set(name, await sectionModels(same, elsewhere, index));
  }
  const models = await sectionModels(section, context, index);
  return onKinds(models, { kinds, measured, place: context.placeOf(index), warn: context.warn });
}

/** True if models of the section have separate profiles on a device that other kinds do not have. */
function isMeasuredElsewhere(
  section: ModelsSection,
  device: LiveDevice,
  context: ModelsContext,
): section is Extract<ModelsSection, { kind: 'onnx' }> {
  return section.kind === 'onnx' && device !== 'simulated' && device !== context.device.kind;
}

/** The section with other measurements of its models. */
function withFile(section: ModelsSection, path: string): ModelsSection {
  return section.kind === 'onnx' ? { ...section, profile: path } : ({ ...section, path } as ModelsSection);
}

/** A kind of GPU, and the key that names the file with its measurements. */
interface FileOfKind {
  readonly kind: string;
  readonly key: string;
}

async function sectionModels(
  section: ModelsSection,
  context: ModelsContext,
  index: number,
  of?: FileOfKind,
): Promise<KindModel[]> {
  const { pageBytes } = context.cluster;
  switch (section.kind) {
    case 'csv': {
      const path = relativeTo(context.file, section.path);
      const { host, warn, cluster } = context;
      const kindNames = of === undefined ? cluster.kindNames : [of.kind];
      const read = readModelsCsv(path, { pageBytes, kindNames, host, warn });
      return (await read.catch(named(context, index, of?.key ?? 'path', section.path))).map(onKindsOfFile);
    }
    case 'profile': {
      const path = relativeTo(context.file, section.path);
      const read = readProfile(path, context.host);
      const profile = await read.catch(named(context, index, of?.key ?? 'path', section.path));
      return measured(profile, null, section, pageBytes);
    }
    case 'onnx':
      return onnxModels(section, context, index, of?.key);
    case 'fit': {
      const name = section.name ?? `fit-${formatCount(section.parameters)}`;
      return plain(copiesOf(fitModel({ name, parameters: section.parameters }, pageBytes), section.copies));
    }
    case 'zoo':
      return plain(zooModels(section.varieties, section.copies, pageBytes));
  }
}

async function onnxModels(
  section: Extract<ModelsSection, { kind: 'onnx' }>,
  context: ModelsContext,
  index: number,
  fileKey = 'profile',
): Promise<KindModel[]> {
  const { host, precision } = context;
  const file = await onnxFile(relativeTo(context.file, section.path), precision, host);
  const profile =
    section.profile === undefined
      ? await readMeasuredProfile(file, context.device, context.placeOf(index, 'path'), host)
      : await readProfile(relativeTo(context.file, section.profile), host).catch(
          named(context, index, fileKey, section.profile),
        );
  const used =
    section.batchSizes === undefined
      ? profile
      : restrictBatches(profile, section.batchSizes, context.placeOf(index, 'batchSizes'));
  return measured(used, file, section, context.cluster.pageBytes);
}

function measured(
  profile: Profile,
  file: string | null,
  { name, copies }: { readonly name?: string; readonly copies: number },
  pageBytes: number,
): KindModel[] {
  const spread = profileSpread(profile);
  // A copied folder may contain a profile with the name of the original.
  const own = file === null ? null : repositoryName(file);
  const specs = copiesOf(profileModel(profile, name ?? own ?? profile.name, pageBytes), copies);
  return specs.map((spec) => ({ spec, file, spread }));
}

function onKindsOfFile({ base, onKind }: CsvModel): KindModel {
  const [spec] = base === null ? onKind.values() : [base];
  return {
    ...{ spec: spec!, file: null, spread: null },
    ...(onKind.size === 0 ? {} : { onKind, ofOtherKind: base === null }),
  };
}

function plain(specs: readonly ModelSpec[]): KindModel[] {
  return specs.map((spec) => ({ spec, file: null, spread: null }));
}

/** A missing file is reported where the experiment names it; other mistakes are in that file. */
function named(
  context: ModelsContext,
  index: number,
  key: string,
  written: string,
): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof EscapementError) || error.code !== 'E_FILE_MISSING') throw error;
    const path = resolve(relativeTo(context.file, written));
    const hint = isAbsolute(written) ? '' : '; a relative path begins at the folder of the experiment file';
    throw new EscapementError(error.code, `${path}: ${error.what}${hint}`, context.placeOf(index, key));
  };
}

function copiesOf(model: ModelSpec, copies: number): ModelSpec[] {
  if (copies === 1) return [model];
  return Array.from({ length: copies }, (_, copy) => ({ ...model, name: `${model.name}-${copy}` }));
}

function checkFits(model: ModelSpec, context: ModelsContext, index: number): void {
  const { kinds, pageBytes } = context.cluster;
  const largest = kinds.reduce((most, kind) => (kind.pages > most.pages ? kind : most));
  if (model.pages <= largest.pages) return;
  const gpu = largest.name === null ? 'a GPU' : `the largest GPU, ${largest.name},`;
  throw new EscapementError(
    'E_MODEL_TOO_LARGE',
    `model ${model.name} needs ${model.pages} pages of ${formatBytes(pageBytes)} and the weights cache of ${gpu} has ${largest.pages}: ` +
      (largest.name === null ? 'raise cluster.pages or cluster.memory' : 'give a kind more memory'),
    context.placeOf(index),
  );
}

/** Kinds of GPUs on which the models of a section were measured. */
interface KindsOfSection {
  readonly kinds: readonly GpuKindConfig[];
  /** Measurements by name of the kind. */
  readonly measured: ReadonlyMap<string, readonly KindModel[]>;
  /** Place of the section, and of its profiles. */
  readonly place: ErrorPlace;
  /** Called with omissions. */
  warn(text: string): void;
}

/**
 * Models of a section with their times on each kind of GPU: those measured there, or else those of the section itself
 * divided by the speed of the kind. Batch sizes are those that all kinds have. Throws `E_CONFIG_VALUE` for a kind that
 * has neither.
 */
function onKinds(
  models: readonly KindModel[],
  { kinds, measured, place, warn }: KindsOfSection,
): BuiltModel[] {
  return models.map((model, i) =>
    combined(
      model,
      kinds.map((kind) => {
        const own = kind.name === null ? undefined : measured.get(kind.name);
        if (own !== undefined) return counterpart(own, model, i, kind, place);
        const spec = model.onKind?.get(kind.name ?? '');
        if (spec !== undefined) return { ...model, spec };
        if (kind.speed !== null && model.ofOtherKind !== true)
          return kind.speed === 1 ? model : scaled(model, kind.speed);
        throw new EscapementError('E_CONFIG_VALUE', notMeasured(model, kind.name), place);
      }),
      place,
      warn,
    ),
  );
}

function notMeasured({ spec, onKind, ofOtherKind }: KindModel, kind: string | null): string {
  const give = onKind === undefined ? `give profiles.${kind}` : `add rows for ${kind} to its file`;
  const orSpeed =
    ofOtherKind === true
      ? ''
      : `, or ${onKind === undefined ? '' : 'give '}${kind} a speed relative to the first kind`;
  return `${spec.name} was not measured on ${kind}: ${give}${orSpeed}`;
}

/** Throws `E_CONFIG_VALUE` for a profile of a kind that the cluster does not list. */
function checkKind(kind: string, kindNames: readonly string[], place: ErrorPlace): void {
  if (kindNames.includes(kind)) return;
  const hint = kindNames.length === 0 ? 'cluster.gpus lists no kinds' : suggestion(kind, kindNames);
  throw new EscapementError('E_CONFIG_VALUE', `no GPUs are of the kind "${kind}": ${hint}`, place);
}

/** Measurement on a kind, for the model at `index` of its section: copies share a profile. */
function counterpart(
  own: readonly KindModel[],
  { spec }: KindModel,
  index: number,
  kind: GpuKindConfig,
  place: ErrorPlace,
): KindModel {
  const found =
    own.find((other) => other.spec.name === spec.name) ?? (own.length === 1 ? own[0] : own[index]);
  if (found !== undefined) return found;
  throw new EscapementError(
    'E_CONFIG_VALUE',
    `${spec.name} is not among the models of profiles.${kind.name}`,
    place,
  );
}

function scaled({ spec, file, spread }: KindModel, speed: number): KindModel {
  const faster = (ns: number) => Math.max(1, Math.round(ns / speed));
  return {
    spec: { ...spec, ...mapExecNs(spec, faster) },
    file,
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
    throw new EscapementError(
      'E_CONFIG_VALUE',
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

/** A model as measured on one kind of GPU, with facts of its section beyond the figures of the scheduler. */
interface KindModel {
  readonly spec: ModelSpec;
  /** Figures of its file for named kinds; absent if the file is about one. */
  readonly onKind?: ReadonlyMap<string, ModelSpec>;
  /** True if times on other kinds cannot be derived from `spec`, which is not of the first kind. */
  readonly ofOtherKind?: boolean;
  /** Its ONNX file; null if there is none. */
  readonly file: string | null;
  /** Spread of its measured durations; null if not known. */
  readonly spread: ModelSpread | null;
}

/** A model with its times on all kinds. */
interface BuiltModel extends Pick<KindModel, 'spec' | 'file'> {
  /** By kind. */
  readonly spreads: readonly (ModelSpread | null)[];
}
