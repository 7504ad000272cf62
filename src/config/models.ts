import { isAbsolute, resolve } from 'pathe';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { ModelSpec } from '../core/model.js';
import type { BuiltModel, KindModel } from './built-model.js';
import type { ClusterConfig } from './experiment.js';
import { type ExperimentHost, relativeTo } from './experiment-host.js';
import { fitModel } from './fit.js';
import { checkKind, onKinds } from './models-by-kind.js';
import { type CsvModel, readModelsCsv } from './models-csv.js';
import { onnxFile, readMeasuredProfile, repositoryName, restrictBatches } from './onnx-model.js';
import { type Profile, profileModel } from './profile.js';
import type { MeasuredDevice } from './profile-file.js';
import { profileSpread } from './profile-spread.js';
import { readProfile } from './read-profile.js';
import type { LiveDevice } from './schema-live.js';
import type { ModelsSection } from './schema-models.js';
import type { RuntimeSettings } from './schema-runtime.js';
import { formatBytes, formatCount } from './units-text.js';
import { zooModels } from './zoo.js';

/** What the sections need to know of the experiment around them. */
interface ModelsContext {
  /** The experiment file: paths are relative to its folder. */
  readonly file: string;
  readonly host: ExperimentHost;
  readonly cluster: ClusterConfig;
  /** What the profiles of ONNX models were measured on, where the sections do not name them. */
  readonly device: MeasuredDevice;
  /** Which file of each ONNX model is meant. */
  readonly precision: RuntimeSettings['precision'];
  /** Where section `index`, or a key of it, is written. */
  placeOf(index: number, key?: string): ErrorPlace;
  /** Takes what was estimated, and what looks wrong. */
  warn(text: string): void;
}

/**
 * All models of the run, section by section in order. Throws what reading their files throws,
 * `E_CONFIG_VALUE` where two have the same name and `E_MODEL_TOO_LARGE` where one exceeds the weights cache.
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

/** The models of a section, with what was measured on each kind of GPU. */
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

/** Whether models of the section have profiles of their own on a device that other kinds do not have. */
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

/** A kind of GPU, and the key that names the file with what was measured on it. */
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
  // A folder may have been copied, with a profile that still has the name of the first.
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
