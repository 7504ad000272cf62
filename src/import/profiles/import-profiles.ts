import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { profileSchema } from '../../config/profile.js';
import { gpuKind } from '../names.js';
import { type BuiltProfile, buildProfiles } from './build-profiles.js';
import { isJournal, readJournalTimes } from './journal.js';
import type { Measurement, Stated } from './measurement.js';
import { readReport } from './reports.js';
import { readTable, type TableOptions } from './tables.js';

/** Options of an import of measurements. */
export interface ImportProfilesOptions extends Omit<TableOptions, 'modelColumn'> {
  /** A column with models, or the model of files that do not name it. */
  readonly model: string | undefined;
  readonly gpu: string | undefined;
  readonly precision: string | undefined;
  readonly batch: number | undefined;
  readonly spread: number | undefined;
}

/** A profile that was written. */
interface WrittenProfile extends BuiltProfile {
  readonly path: string;
}

interface ImportedProfiles {
  readonly written: readonly WrittenProfile[];
  /** Section `models` of an experiment. */
  readonly models: readonly ModelLine[];
  /** Kinds of GPUs, the first of which is that of the `path` of models. */
  readonly kinds: readonly string[];
  readonly notes: readonly string[];
}

/** A model in an experiment, with the profiles on further kinds of GPUs. */
interface ModelLine {
  readonly kind: 'profile';
  readonly path: string;
  readonly profiles?: Readonly<Record<string, string>>;
}

const MOST_PROFILES = 10_000;
/** Usual durations of an INFER. */
const USUAL_MS = [0.1, 1000] as const;
/** Files of models, by which their weights are known. */
const MODEL_FILE = /\.(?:onnx|plan|engine|pt|pth|safetensors|tflite|pb)$/;

/**
 * Reads measurements of any known kind and writes a profile for each model and GPU into the folder `out`. Nothing is
 * written unless all files can be read. Throws `E_PROFILE` with file, line and column, `E_FILE_MISSING`, `E_FILE_WRITE`.
 */
export async function importProfiles(
  files: InputFiles,
  paths: readonly string[],
  out: string,
  options: ImportProfilesOptions,
): Promise<ImportedProfiles> {
  const measurements: Measurement[] = [];
  const notes: string[] = [];
  const notesOf = new Map<string, string[]>();
  for (const path of paths) {
    const read = await measurementsOf(files, path, options);
    measurements.push(...read.measurements);
    const all = [...read.notes, ...unitNote(read.measurements)];
    notesOf.set(
      path,
      all.filter((note) => !note.startsWith('not used')),
    );
    notes.push(...[`recognized as ${read.format}`, ...all].map((note) => `${path}: ${note}`));
  }
  const weightsOf = (model: string) => weightsNextTo(paths, model);
  const built = buildProfiles(measurements, { spread: options.spread, notesOf, weightsOf });
  if (built.profiles.length > MOST_PROFILES) {
    const what = `have ${built.profiles.length} pairs of model and GPU, more than ${MOST_PROFILES}: choose with --where`;
    throw new EscapementError('E_PROFILE', what, { file: paths.join(', ') });
  }
  const written = named(built.profiles, out);
  for (const { path, profile } of written) {
    const mistake = profileSchema.safeParse(profile).error?.issues[0];
    if (mistake !== undefined)
      throw new EscapementError(
        'E_PROFILE',
        `${profile.name}: ${mistake.path.join('.')}: ${mistake.message}`,
        {
          file: profile.source.batches,
        },
      );
    checkWritable(path);
  }
  for (const { path, profile } of written) writeWhole(path, `${JSON.stringify(profile, null, 2)}\n`);
  return { written, ...linesOf(written, notes), notes: [...notes, ...built.notes] };
}

async function measurementsOf(files: InputFiles, path: string, options: ImportProfilesOptions) {
  const stated = statedBy(path, options);
  if (isJournal(path, '')) return readJournalTimes(path, stated);
  const text = (await files.text(path)).replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  if (isJournal(path, text)) return readJournalTimes(path, stated);
  if (text.trim() === '') throw new EscapementError('E_PROFILE', 'is empty', { file: path });
  const report = readReport(text, path, stated);
  if (report !== null) return report;
  if (/^\s*[[{]/.test(text)) {
    const what =
      'is JSON of an unknown kind; known are times of trtexec, exports of perf_analyzer, and journals';
    throw new EscapementError('E_PROFILE', what, { file: path });
  }
  const header = text.slice(0, text.indexOf('\n'));
  const isColumn = options.model !== undefined && header.split(/[,;\t|]/).includes(options.model);
  return readTable(text, path, stated, { ...options, modelColumn: isColumn ? options.model : undefined });
}

/** Doubts the unit of a file in which every INFER is shorter, or longer, than models usually take. */
function unitNote(measurements: readonly Measurement[]): string[] {
  const times = measurements.map(({ medianMs }) => medianMs);
  const [least, most] = [Math.min(...times), Math.max(...times)];
  if (most >= USUAL_MS[0] && least <= USUAL_MS[1]) return [];
  return [`INFERs take ${least} to ${most} ms, which is unusual: is the unit of the times right?`];
}

/** Facts by options, or else by the name of the file: `resnet50_b8.csv` is of model resnet50 and batch 8. */
function statedBy(path: string, { model, gpu, precision, batch }: ImportProfilesOptions): Stated {
  const stem = basename(path).replace(/\.[^.]+$/, '');
  const [, name = stem, size] = /^(.+?)[-_.](?:bs?|batch)[-_]?(\d+)$/.exec(stem) ?? [];
  return {
    model: model ?? name,
    gpu: gpu ?? '',
    precision: precision ?? '',
    batch: batch ?? (size === undefined ? undefined : Number(size)),
  };
}

/** Size of the file of a model that lies next to the measurements: `NAME.onnx`, or in a repository `NAME/1/model.onnx`. */
function weightsNextTo(paths: readonly string[], model: string) {
  if (!/^[\w.-]+$/.test(model)) return null;
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    for (const [place, stem] of [
      [folder, model],
      [join(folder, model, '1'), 'model'],
    ] as const) {
      const ofModel = listOf(place).filter((name) => name.startsWith(`${stem}.`));
      const file = ofModel.find((name) => MODEL_FILE.test(name));
      if (file === undefined) continue;
      // Weights that ONNX keeps apart.
      const parts = [file, ...ofModel.filter((name) => name.endsWith('.data'))];
      const bytes = parts.reduce((sum, name) => sum + statSync(join(place, name)).size, 0);
      if (bytes > 0) return { bytes, file: `size of ${join(place, file)}` };
    }
  }
  return null;
}

function listOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Paths of profiles, `OUT/MODEL.GPU.json`, each another. */
function named(profiles: readonly BuiltProfile[], out: string): WrittenProfile[] {
  const taken = new Set<string>();
  return profiles.map((one) => {
    const name = one.model.replace(/[^\w.-]+/g, '-') + (one.gpu === '' ? '' : `.${gpuKind(one.gpu)}`);
    let path = join(out, `${name}.json`);
    for (let number = 2; taken.has(path); number++) path = join(out, `${name}-${number}.json`);
    taken.add(path);
    return { ...one, path };
  });
}

/** `models` of an experiment with all kinds of GPUs, and notes on what was not measured on one of them. */
function linesOf(written: readonly WrittenProfile[], notes: string[]) {
  const gpus = [...new Set(written.map(({ gpu }) => gpu))];
  const kinds = gpus.filter((gpu) => gpu !== '').map(gpuKind);
  const names = [...new Set(written.map(({ model }) => model))];
  const models = names.map((model): ModelLine => {
    const ofModel = written.filter((one) => one.model === model);
    const missing = gpus.filter((gpu) => !ofModel.some((one) => one.gpu === gpu));
    if (missing.length > 0) notes.push(`${model} was not measured on ${missing.join(', ')}`);
    const [first, ...others] = ofModel as [WrittenProfile, ...WrittenProfile[]];
    const profiles = Object.fromEntries(others.map(({ gpu, path }) => [gpuKind(gpu), path]));
    return { kind: 'profile', path: first.path, ...(others.length > 0 && { profiles }) };
  });
  return { models, kinds };
}
