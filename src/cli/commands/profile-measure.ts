import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import type { OrtDeviceSpec } from '../../live/device.js';
import type { Precision } from '../../live/models/precision.js';
import type { RepositoryModel } from '../../live/models/repository.js';
import type { MeasuredProfile } from '../../serve/measure-profile.js';
import { sessionSettings } from '../../serve/session-settings.js';
import { table } from '../../text/table.js';
import { wholeNumber } from '../flag.js';
import { runtimeOf } from '../live-settings.js';
import { openProgress } from '../progress.js';
import type { ProfileMeasureArgs } from '../usage/profile-measure.js';

/** `escapement profile measure PATH`: how long a model takes on a device of this machine. */
export async function run(args: ProfileMeasureArgs): Promise<void> {
  const runtime = await runtimeOf(args);
  const device: OrtDeviceSpec = {
    kind: args.device,
    adapter: args.adapter,
    session: sessionSettings(runtime),
  };
  const runs = args.runs ?? null;
  const models = await chosenModels(args.path, args.model, runtime.precision);
  if (args.out !== undefined && models.length > 1) {
    throw new EscapementError('E_USAGE', '--out holds the profile of one model; select it with --model');
  }
  // Loaded late: wrong flags are reported without onnxruntime.
  const { measureProfile } = await import('../../serve/measure-profile.js');
  const { profilePaths } = await import('../../serve/profiles.js');
  const cacheDir = args['cache-dir'] ?? null;
  const budgetNs = args.budget;
  const profiles: ({ path: string } & MeasuredProfile)[] = [];
  for (const model of models) {
    const batchSizes = chosenSizes(args['batch-sizes'], model);
    const out = args.out ?? profilePaths(model.onnxPath, device, cacheDir)[0];
    checkWritable(out);
    const progress = openProgress(`measuring ${model.name}`, args.quiet);
    const { update: onProgress } = progress;
    const measured = await measureProfile(model, device, {
      batchSizes,
      runs,
      budgetNs,
      cacheDir,
      onProgress,
    }).finally(progress.stop);
    writeWhole(out, `${JSON.stringify(measured.profile, null, 2)}\n`);
    profiles.push({ path: out, ...measured });
    if (!args.json) process.stdout.write(`${measuredText(measured)}profile: ${out}\n`);
  }
  if (args.json) process.stdout.write(`${JSON.stringify({ profiles })}\n`);
}

async function chosenModels(
  path: string,
  name: string | undefined,
  precision: Precision,
): Promise<RepositoryModel[]> {
  const { readModel, readModelFile, readRepository } = await import('../../live/models/repository.js');
  if (!path.endsWith('.onnx')) {
    return name === undefined
      ? readRepository(path, precision)
      : [await readModel(join(path, name), precision)];
  }
  if (name === undefined) return [await readModelFile(path)];
  throw new EscapementError('E_USAGE', '--model selects from a repository, and this is a single model');
}

function chosenSizes(
  text: string | undefined,
  { batchSizes, signature }: RepositoryModel,
): readonly number[] {
  if (text === undefined) return batchSizes;
  const sizes = text.split(',').map((size) => wholeNumber(size, '--batch-sizes', 1));
  if (sizes[0] !== 1 || sizes.some((size, i) => i > 0 && size <= sizes[i - 1])) {
    throw new EscapementError('E_USAGE', `--batch-sizes ${text}: must start with 1 and ascend`);
  }
  if (signature.batched || sizes.length === 1) return sizes;
  throw new EscapementError('E_USAGE', `--batch-sizes ${text}: the model does not support batches`);
}

function measuredText({ profile, measurement }: MeasuredProfile): string {
  const { load, firstLoadMs, batches } = measurement;
  const ratios = batches.map(({ p99Ms, medianMs }) => p99Ms / medianMs);
  const worst = Math.max(...ratios);
  return [
    `${profile.name} on ${profile.gpu}\n\n`,
    table([
      ['', 'median ms', 'p99 ms', 'max ms', 'p99 / median', 'runs', 'requests/s'],
      ['LOAD', ...figures(load), '-'],
      ...profile.batches.map(({ batch, medianMs }, i) => [
        `INFER, batch ${batch}`,
        ...figures(batches[i]),
        Math.round((batch * 1000) / medianMs),
      ]),
    ]),
    profile.batching === undefined ? '' : `\n${batchingText(profile.batching, profile.batches.length > 1)}\n`,
    `\nthe very first LOAD took ${firstLoadMs.toFixed(1)} ms\n`,
    `p99 / median of INFER is at most ${worst.toFixed(2)}: ${verdict(worst)}\n`,
  ].join('');
}

function batchingText(
  { independent, what }: NonNullable<MeasuredProfile['profile']['batching']>,
  isBatched: boolean,
): string {
  if (independent) return `batches: ${what}`;
  return isBatched
    ? `warning: batched as config.yaml says, but answers depend on the rest of the batch: ${what}`
    : `no batches, one request at a time: ${what}`;
}

function figures({ medianMs, p99Ms, maxMs, runs }: MeasuredProfile['measurement']['load']) {
  return [...[medianMs, p99Ms, maxMs].map((ms) => ms.toFixed(3)), (p99Ms / medianMs).toFixed(2), runs];
}

/** What the ratio means for a scheduler that plans by past durations. */
function verdict(ratio: number): string {
  if (ratio <= 1.1) return 'durations are stable enough to plan with';
  if (ratio <= 1.5) return 'durations can be planned with if SLOs leave that much room';
  return 'durations vary too much to plan with; check what else uses the device';
}
