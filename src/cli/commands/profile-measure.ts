import { join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import type { OrtDeviceSpec } from '../../live/device.js';
import type { Precision } from '../../live/models/precision.js';
import type { RepositoryModel } from '../../live/models/repository.js';
import type { MeasuredProfile } from '../../serve/measure-profile.js';
import { table } from '../../text/table.js';
import { writeOut } from '../../text/terminal.js';
import { accessFlags, json, quiet } from '../common-options.js';
import { checkOneFile, chosenSizes, inferLabel, stabilityText } from '../measured.js';
import { type ArgsOf, duration, durationOr, group, list, size, text, usageError, whole } from '../options.js';
import { cacheFlags, deviceFlags, runtimeFlags } from '../server-options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('path', text('Model repository, or one model (.onnx); or give --url'))
    .options({
      ...group('Measurement', {
        model: list('Measure only this model of the repository or server'),
        'batch-sizes': text('Batch sizes, e.g. 1,2,4,8', 'those of the model'),
        runs: whole(1, 'INFERs at each batch size', 'until their figures are stable'),
        budget: durationOr('3s', 'Time for each model, unless --runs is given'),
      }),
      ...group('Server', {
        url: text(
          'Measure the models of this running server as a client: http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS',
        ),
        payload: text(
          'Real inputs for --url, one row: a .json, .npy or raw file, or a folder with one per model',
          'random, or texts',
        ),
        weights: size(
          "Bytes of a model's weights, which a client cannot see",
          'next to none: it stays loaded',
        ),
        'load-time': duration(
          'Time to load a model, which a client cannot see',
          'next to none: it stays loaded',
        ),
      }),
      ...accessFlags,
      ...deviceFlags,
      ...cacheFlags,
      ...runtimeFlags,
      ...group('Output', {
        json,
        out: text(
          'Profile to write, for one model',
          'profile.DEVICE.json next to the model or in --cache-dir; with --url NAME.profile.json',
        ),
        quiet,
      }),
    })
    .example([
      ['$0 profile measure models --device cpu', ''],
      ['$0 profile measure --url http://127.0.0.1:8000 --model resnet50 --batch-sizes 1,2,4,8', ''],
    ])
    .epilogue(
      '--url works with any server of the Open Inference Protocol. It sends one request at a time, as large as a batch, and ' +
        'subtracts the round trip of the network. Nothing else should use the server meanwhile. Flags of models, GPUs and ' +
        'settings here do not apply.',
    );

type ProfileMeasureArgs = ArgsOf<typeof builder>;

/** `escapement profile measure PATH`: duration of a model on a device of this machine, or with --url on a server. */
export async function handler(args: ProfileMeasureArgs): Promise<void> {
  const { path, url } = args;
  if ((url === undefined) === (path === undefined))
    throw usageError('profile measure: give PATH, for models here, or --url, for those of a server');
  if (path !== undefined) return measureHere({ ...args, path });
  const { measureUrl } = await import('../measure-url.js');
  return measureUrl({ ...args, url: url ?? '' });
}

async function measureHere(args: ProfileMeasureArgs & { readonly path: string }): Promise<void> {
  const { runtimeOf } = await import('../live-settings.js');
  const { sessionSettings } = await import('../../serve/session-settings.js');
  const { openProgress } = await import('../progress.js');
  const runtime = await runtimeOf(args);
  const device: OrtDeviceSpec = {
    kind: args.device,
    adapter: args.adapter,
    session: sessionSettings(runtime),
  };
  const runs = args.runs ?? null;
  const { models, failed } = await chosenModels(args.path, args.model, runtime.precision);
  const unread = failed.length;
  checkOneFile(args.out, models.length + unread);
  // Loaded late: wrong flags are reported without onnxruntime.
  const { measureProfile } = await import('../../serve/measure-profile.js');
  const { profilePaths } = await import('../../serve/profiles.js');
  const cacheDir = args['cache-dir'] ?? null;
  const budgetNs = args.budget;
  const profiles: ({ path: string } & MeasuredProfile)[] = [];
  for (const model of models) {
    const batchSizes = chosenSizes(args['batch-sizes'], model.batchSizes, model.signature.batched);
    const out = args.out ?? profilePaths(model.onnxPath, device, cacheDir)[0];
    checkWritable(out);
    const progress = openProgress(`measuring ${model.name}`, args.quiet);
    const options = { batchSizes, runs, budgetNs, cacheDir, onProgress: progress.update };
    try {
      const measured = await measureProfile(model, device, options).finally(progress.stop);
      writeWhole(out, `${JSON.stringify(measured.profile, null, 2)}\n`);
      profiles.push({ path: out, ...measured });
      if (!args.json) writeOut(`${measuredText(measured)}profile: ${out}\n`);
    } catch (error) {
      if (!(error instanceof EscapementError)) throw error;
      failed.push({ name: model.name, error });
    }
  }
  if (args.json) writeOut(`${JSON.stringify({ profiles })}\n`);
  if (failed.length > 0) throw notMeasured(failed, models.length + unread);
}

interface Failed {
  readonly name: string;
  readonly error: EscapementError;
}

/** The error of a single model is reported as it is. */
function notMeasured(failed: readonly Failed[], count: number): EscapementError {
  if (count === 1) return failed[0].error;
  const reasons = failed.map(({ name, error }) => `${name}: ${error.message}`);
  const what = `${failed.length} of ${count} models are not measured: ${reasons.join('; ')}`;
  return new EscapementError('E_MODEL_FILE', what);
}

/** Models to measure; those of a repository that cannot be read are listed in `failed`. */
async function chosenModels(
  path: string,
  names: readonly string[],
  precision: Precision,
): Promise<{ readonly models: readonly RepositoryModel[]; readonly failed: Failed[] }> {
  const { readModel, readModelFile, surveyRepository } = await import('../../live/models/repository.js');
  if (path.endsWith('.onnx')) {
    if (names.length === 0) return { models: [await readModelFile(path)], failed: [] };
    throw usageError('--model selects from a repository, and this is a single model');
  }
  if (names.length > 0) {
    const named = names.map((name) => readModel(join(path, name), precision));
    return { models: await Promise.all(named), failed: [] };
  }
  const { models, problems } = await surveyRepository(path, precision);
  return { models, failed: [...problems] };
}

function measuredText({ profile, measurement }: MeasuredProfile): string {
  const { load, firstLoadMs, batches, shorter = [] } = measurement;
  const { length = 0, batching } = profile;
  const timed = [...shorter, { length, batches }];
  const rows = timed.flatMap((one) =>
    profile.batches.map(({ batch }, i) => [
      inferLabel(one.length, batch),
      ...figures(one.batches[i]),
      Math.round((batch * 1000) / one.batches[i].medianMs),
    ]),
  );
  const notes =
    batching === undefined
      ? []
      : ['', batchingText(batching, profile.batches.length > 1), ...paddingText(batching)];
  return [
    `${profile.name} on ${profile.gpu}\n\n`,
    table([
      ['', 'median ms', 'p99 ms', 'max ms', 'p99 / median', 'runs', 'requests/s'],
      ['LOAD', ...figures(load), '-'],
      ...rows,
    ]),
    ...notes.map((note) => `${note}\n`),
    `\nthe very first LOAD took ${firstLoadMs.toFixed(1)} ms\n`,
    stabilityText(timed.flatMap((one) => one.batches)),
  ].join('');
}

type Batching = NonNullable<MeasuredProfile['profile']['batching']>;

function batchingText({ independent, what }: Batching, isBatched: boolean): string {
  if (independent) return `batches: ${what}`;
  return isBatched
    ? `warning: batched as config.yaml says, but answers depend on the rest of the batch: ${what}`
    : `no batches, one request at a time: ${what}`;
}

function paddingText({ padding }: Batching): string[] {
  if (padding === undefined) return [];
  const { same, what } = padding;
  return [
    same ? `padding: ${what}` : `warning: padded as config.yaml says, but answers depend on it: ${what}`,
  ];
}

function figures({ medianMs, p99Ms, maxMs, runs }: MeasuredProfile['measurement']['load']) {
  return [...[medianMs, p99Ms, maxMs].map((ms) => ms.toFixed(3)), (p99Ms / medianMs).toFixed(2), runs];
}
