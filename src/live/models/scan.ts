import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { isFile } from '../../base/files/is-file.js';
import { FREE } from '../model.js';
import type { DeclaredTensor, Ensemble, EnsembleStep, ModelProblem } from '../model-list.js';
import type { PbtxtSettings } from './config-pbtxt.js';
import { modelFileName, readFolderSettings, SETTINGS_FILES } from './model-settings.js';
import { isFolder, modelFile, PRECISIONS, type Precision } from './precision.js';
import type { ModelSettings, VersionPolicy } from './settings.js';

/** A version of a model that is to be served. Its file exists but was not read yet. */
interface FoundVersion {
  readonly name: string;
  readonly version: string;
  readonly onnxPath: string;
}

type VersionName = Pick<FoundVersion, 'name' | 'version'>;

/** Contents of a repository. */
export interface RepositoryScan {
  /** By name, then by version, ascending. */
  readonly versions: readonly FoundVersion[];
  /** Lower versions of models whose settings ask for the latest, in case those are unreadable: highest first. */
  readonly spares: readonly FoundVersion[];
  readonly problems: readonly ModelProblem[];
  readonly ensembles: readonly Ensemble[];
  /** Files and folders that are not models, relative to the repository. */
  readonly skipped: readonly string[];
  /** Settings without effect, a line per model. */
  readonly notes: readonly string[];
}

/**
 * Scans the folders of a repository: each model is a folder `NAME/VERSION/model.onnx`; at FP16
 * `NAME/VERSION/fp16/model.onnx`. A mistake in one model does not affect the others. Throws `E_MODEL_FILE` only if the
 * folder is missing or unreadable.
 */
export function scanRepository(dir: string, precision: Precision): RepositoryScan {
  return merged(
    repositoryEntries(dir).map((name) => {
      const isModel = !name.startsWith('.') && isFolder(join(dir, name));
      return isModel ? scanModel(join(dir, name), name, precision) : { ...NOTHING, skipped: [name] };
    }),
  );
}

/** Scans several repositories as one. A model that lies in more than one cannot be served. Throws like `scanRepository`. */
export function scanRepositories(dirs: readonly string[], precision: Precision): RepositoryScan {
  const scans = dirs.map((dir) => scanRepository(dir, precision));
  const names = scans.flatMap(({ versions, problems, ensembles }) => [
    ...new Set([...versions, ...problems, ...ensembles].map(({ name }) => name)),
  ]);
  const twice = new Set(names.filter((name, at) => names.indexOf(name) < at));
  const all = merged(scans);
  const isOne = ({ name }: { readonly name: string }) => !twice.has(name);
  return {
    ...all,
    versions: all.versions.filter(isOne),
    spares: all.spares.filter(isOne),
    ensembles: all.ensembles.filter(isOne),
    problems: [
      ...all.problems.filter(isOne),
      ...[...twice].map((name) => ({ name, version: null, error: inSeveral(dirs, name) })),
    ],
  };
}

/** Repository of a model; the first one if none has it. Throws `E_MODEL_FILE` if several do. */
export function repositoryWith(dirs: readonly string[], name: string): string {
  const having = dirs.length === 1 ? dirs : dirs.filter((dir) => isThere(dir, name));
  if (having.length > 1) throw inSeveral(having, name);
  return having[0] ?? dirs[0];
}

function inSeveral(dirs: readonly string[], name: string): EscapementError {
  const [first] = dirs.filter((dir) => isThere(dir, name));
  return problem('is in more than one repository: keep one', join(first, name));
}

/** Scans one model of a repository. `name` may come from a client: it is no path before it was found there. */
export function scanNamed(dir: string, name: string, precision: Precision, config?: string): RepositoryScan {
  return isThere(dir, name) ? scanModel(join(dir, name), name, precision, config) : NOTHING;
}

/**
 * File of a version, even if the model's settings do not choose it; null: there is no such model. `name` and `version` may
 * come from a remote peer. Throws `E_MODEL_FILE`, and `E_CONFIG_…` for mistakes in settings.
 */
export function findVersion(dir: string, name: string, version: string, precision: Precision): string | null {
  if (!isThere(dir, name)) return null;
  if (isVersion(version)) {
    const file = modelFile(join(dir, name, version), precision, modelFileName(join(dir, name), name));
    if (isFile(file)) return file;
  }
  throw problem(`there is no version ${JSON.stringify(version)} of it in its repository`, join(dir, name));
}

function isThere(dir: string, name: string): boolean {
  return !name.startsWith('.') && repositoryEntries(dir).includes(name) && isFolder(join(dir, name));
}

/** Scans the model in folder `dir`. Never throws. */
export function scanModel(dir: string, name: string, precision: Precision, config?: string): RepositoryScan {
  try {
    return new ModelScan(dir, name, precision, config).scan();
  } catch (error) {
    if (error instanceof EscapementError) {
      return { ...NOTHING, problems: [{ name, version: null, error }] };
    }
    return { ...NOTHING, problems: [{ name, version: null, error: unreadable(dir, error) }] };
  }
}

const NOTHING: RepositoryScan = {
  ...{ versions: [], spares: [], problems: [], ensembles: [] },
  ...{ skipped: [], notes: [] },
};

function merged(scans: readonly RepositoryScan[]): RepositoryScan {
  return {
    versions: scans.flatMap(({ versions }) => versions),
    spares: scans.flatMap(({ spares }) => spares),
    problems: scans.flatMap(({ problems }) => problems),
    ensembles: scans.flatMap(({ ensembles }) => ensembles),
    skipped: scans.flatMap(({ skipped }) => skipped),
    notes: scans.flatMap(({ notes }) => notes),
  };
}

const DIGITS = /^\d+$/;

/** True for a number in canonical form, so that no two folders are the same version. */
export function isVersion(name: string): boolean {
  return DIGITS.test(name) && Number.isSafeInteger(Number(name)) && String(Number(name)) === name;
}

class ModelScan {
  private modelName: string | undefined;
  private readonly skipped: string[] = [];
  private readonly problems: ModelProblem[] = [];

  constructor(
    private readonly dir: string,
    private readonly name: string,
    private readonly precision: Precision,
    private readonly config: string | undefined,
  ) {}

  scan(): RepositoryScan {
    const { dir, name, skipped, problems } = this;
    const entries = entriesOf(dir);
    const { settings, pbtxt } = readFolderSettings(dir, name, this.config);
    const unused = pbtxt?.unused ?? [];
    const note = `${join(dir, 'config.pbtxt')}: ${unused.join(', ')} ${unused.length === 1 ? 'has' : 'have'} no counterpart here and no effect`;
    const notes = unused.length === 0 ? [] : [note];
    if (pbtxt !== null && pbtxt.ensemble !== null) {
      const ensemble = readEnsemble(name, pbtxt, pbtxt.ensemble, settings);
      return { ...NOTHING, ensembles: [ensemble], notes };
    }
    const folders = entries.filter((entry) => isFolder(join(dir, entry)));
    const numbered = folders.filter((entry) => DIGITS.test(entry) && this.isUsed(entry));
    skipped.push(
      ...folders.filter((entry) => !DIGITS.test(entry)).map((entry) => join(name, entry)),
      ...folders
        .filter((entry) => DIGITS.test(entry) && !numbered.includes(entry))
        .map((entry) => join(name, entry)),
    );
    for (const version of numbered) {
      if (isVersion(version)) continue;
      const what = 'is not a version: write its number without leading zeros, and at most 9007199254740991';
      problems.push({ name, version, error: problem(what, join(dir, version)) });
    }
    const there = numbered.filter(isVersion);
    if (there.length === 0) {
      if (problems.length > 0) return { ...NOTHING, problems, skipped };
      const isMeant = entries.some((entry) => SETTINGS_FILES.includes(entry) || entry.endsWith('.onnx'));
      if (!isMeant) return { ...NOTHING, skipped: skipped.length === 0 ? [name] : skipped };
      const what = 'has no version: put the model into a folder with a number, such as 1/model.onnx';
      throw problem(what, dir);
    }
    this.modelName = settings.modelFile;
    const policy: VersionPolicy = settings.versions ?? { kind: 'latest', count: 1 };
    const chosen = this.choose(there, policy);
    const spares = policy.kind === 'latest' ? this.below(chosen, there) : [];
    const found = (version: string) => ({ name, version, onnxPath: this.file(version) });
    return {
      ...NOTHING,
      versions: chosen.map(found),
      spares: spares.map(found),
      problems,
      skipped,
      notes,
    };
  }

  /** An empty folder, perhaps of a copy that has just begun, is no version. */
  private isUsed(version: string): boolean {
    return entriesOf(join(this.dir, version)).length > 0;
  }

  private choose(there: readonly string[], policy: VersionPolicy): readonly string[] {
    const ascending = [...there].sort((a, b) => Number(a) - Number(b));
    if (policy.kind === 'specific') {
      const wanted = ascending.filter((version) => policy.versions.includes(Number(version)));
      for (const version of policy.versions) {
        if (!wanted.some((each) => Number(each) === version)) this.missing(String(version));
      }
      return wanted.filter((version) => this.isThere(version));
    }
    const most = policy.kind === 'all' ? ascending.length : policy.count;
    const chosen: string[] = [];
    for (const version of ascending.reverse()) {
      if (chosen.length < most && this.isThere(version)) chosen.unshift(version);
    }
    return chosen;
  }

  /** Versions lower than all of these, highest first. */
  private below([lowest]: readonly string[], there: readonly string[]): readonly string[] {
    return there
      .filter((version) => Number(version) < Number(lowest) && isFile(this.file(version)))
      .sort((a, b) => Number(b) - Number(a));
  }

  private isThere(version: string): boolean {
    const isThere = isFile(this.file(version));
    if (!isThere) this.missing(version);
    return isThere;
  }

  private missing(version: string): void {
    const file = this.file(version);
    const error = problem(`no such file${howToMake(this.dir, this.name, version, this.precision)}`, file);
    this.problems.push({ name: this.name, version, error });
  }

  private file(version: string): string {
    return modelFile(join(this.dir, version), this.precision, this.modelName);
  }
}

/** Advice for adding a missing model. */
export function howToMake(modelDir: string, name: string, version: string, precision: Precision): string {
  const ofVersion = version === '1' ? '' : ` --model-version ${version}`;
  const ofPrecision = precision === PRECISIONS[0] ? '' : ` --precision ${precision}`;
  const repository = join(modelDir, '..');
  return `: put the model there, or make one with: escapement model make ARCHITECTURE --repository ${repository} --name ${name}${ofVersion}${ofPrecision}`;
}

/** Throws `E_MODEL_FILE`. */
function repositoryEntries(dir: string): string[] {
  if (!isFolder(dir)) {
    const what = existsSync(dir) ? 'is a file, not a folder' : 'no such folder';
    throw problem(`${what}: name a model repository`, dir);
  }
  try {
    return entriesOf(dir);
  } catch (error) {
    throw unreadable(dir, error);
  }
}

function unreadable(dir: string, error: unknown): EscapementError {
  return problem(`cannot be read: ${error instanceof Error ? error.message : String(error)}`, dir);
}

/** Sorted. */
function entriesOf(dir: string): string[] {
  return readdirSync(dir).sort();
}

/** Error for a repository without models. */
export function noModels(dir: string): EscapementError {
  return problem('has no models: put some into NAME/VERSION/model.onnx, or make one with model make', dir);
}

export function problem(what: string, file: string): EscapementError {
  return new EscapementError('E_MODEL_FILE', what, { file });
}

/** Makes an ensemble from its `config.pbtxt` and `config.yaml`. Throws `E_CONFIG_VALUE`. */
function readEnsemble(
  name: string,
  { path, tensors, maxBatchSize }: PbtxtSettings,
  steps: readonly EnsembleStep[],
  { slo, labels, dimensions, ...rest }: ModelSettings,
): Ensemble {
  const [foreign] = Object.keys({ ...labels, ...dimensions, ...rest });
  if (foreign !== undefined) {
    const file = join(dirname(path), 'config.yaml');
    throw new EscapementError('E_CONFIG_VALUE', 'an ensemble can have slo only: leave the rest out', {
      file,
    });
  }
  const maxBatch = maxBatchSize?.size ?? 0;
  const declared = (wanted: string) =>
    tensors.flatMap(({ role, name: tensor, line, datatype, dims }): DeclaredTensor[] => {
      if (role !== wanted) return [];
      if (datatype === null || datatype === 'BF16' || dims === null) {
        const what = `${tensor} of an ensemble needs dims, and a data_type other than TYPE_BF16`;
        throw new EscapementError('E_CONFIG_VALUE', what, { file: path, line, key: role });
      }
      return [{ name: tensor, datatype, shape: maxBatch > 0 ? [FREE, ...dims] : dims }];
    });
  const tensorsOf = { inputs: declared('input'), outputs: declared('output') };
  return { name, sloNs: slo ?? null, steps, ...tensorsOf, maxBatch };
}

/** Result of reading the versions of models. */
interface ReadVersions<T> {
  /** By name, then by version, ascending. */
  readonly good: readonly {
    readonly found: FoundVersion;
    readonly value: T;
    /** True if the settings do not choose it: it replaces an unreadable higher version. */
    readonly standsIn: boolean;
  }[];
  readonly bad: readonly { readonly found: FoundVersion; readonly error: unknown }[];
}

/**
 * Reads versions by `read`. An unreadable one is replaced by the next lower readable one, if the settings ask for the
 * latest: a damaged file must not cost the model.
 */
export async function readVersions<T>(
  { versions, spares }: Pick<RepositoryScan, 'versions' | 'spares'>,
  read: (found: FoundVersion) => Promise<T>,
): Promise<ReadVersions<T>> {
  const good: { found: FoundVersion; value: T; standsIn: boolean }[] = [];
  const bad: { found: FoundVersion; error: unknown }[] = [];
  const left = [...spares];
  for (const chosen of versions) {
    let found: FoundVersion | undefined = chosen;
    while (found !== undefined) {
      try {
        good.push({ found, value: await read(found), standsIn: found !== chosen });
        break;
      } catch (error) {
        bad.push({ found, error });
        const next = left.findIndex(({ name }) => name === chosen.name);
        found = next < 0 ? undefined : left.splice(next, 1)[0];
      }
    }
  }
  return { good: good.sort((a, b) => byNameAndVersion(a.found, b.found)), bad };
}

/** By name, then by version, ascending. */
export function byNameAndVersion(a: VersionName, b: VersionName): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return Number(a.version) - Number(b.version);
}

/** Adds the file to an error of the model, unless it names one. */
export async function locate<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const ofModel = error instanceof EscapementError && error.code === 'E_MODEL_FILE';
    if (!ofModel || error.place.file !== undefined) throw error;
    throw new EscapementError(error.code, error.what, { ...error.place, file });
  }
}
