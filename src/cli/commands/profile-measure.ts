import { dirname, join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { profileFileName } from '../../experiment/profile-file.js';
import { checkWritable, writeWhole } from '../../files/output-file.js';
import type { Precision } from '../../live/models/precision.js';
import type { RepositoryModel } from '../../live/models/repository.js';
import type { MeasuredProfile } from '../../serving/measure-profile.js';
import { oneValue, wholeNumber } from '../args.js';
import { DEVICE_FLAGS, ortDevice } from '../device-flags.js';
import { runtimeOf } from '../live-settings.js';
import { openProgress } from '../progress.js';
import { runtimeFlags } from '../runtime-flags.js';
import { table } from '../text-layout.js';

/** `escapement profile measure PATH`: how long a model takes on a device of this machine. */
export function profileMeasureCommand(cli: Argv): void {
  cli.command(
    'measure <path>',
    'Measure models on a device of this machine, and write their profiles',
    (command) =>
      command
        .positional('path', {
          type: 'string',
          demandOption: true,
          describe: 'Model repository, or one model (.onnx)',
        })
        .options({
          model: oneValue({ describe: 'Only this model of the repository' }),
          ...DEVICE_FLAGS,
          ...runtimeFlags,
          'batch-sizes': oneValue({
            describe: 'Batch sizes, e.g. 1,2,4,8',
            defaultDescription: 'those of the model',
          }),
          runs: oneValue({
            describe: 'INFERs at each batch size',
            defaultDescription: 'as many as 2 s allow, at least 30',
          }),
          out: oneValue({
            describe: 'Profile to write, of one model',
            defaultDescription: 'profile.DEVICE.json beside the model',
          }),
          quiet: { type: 'boolean', default: false, describe: 'No progress on stderr' },
        })
        .example('$0 profile measure models --device cpu', ''),
    async (args) => {
      const runtime = await runtimeOf(args);
      const device = ortDevice(args, runtime);
      const runs = args.runs === undefined ? null : wholeNumber(args.runs, 'runs', 1);
      const models = await chosenModels(args.path, args.model, runtime.precision);
      if (args.out !== undefined && models.length > 1) {
        throw new EscapementError('E_USAGE', '--out takes the profile of one model: choose it with --model');
      }
      // Only who measures needs onnxruntime.
      const { measureProfile } = await import('../../serving/measure-profile.js');
      for (const model of models) {
        const batchSizes = chosenSizes(args['batch-sizes'], model);
        const out = args.out ?? join(dirname(model.onnxPath), profileFileName(device));
        checkWritable(out);
        const progress = openProgress(`measuring ${model.name}`, args.quiet);
        const { update: onProgress } = progress;
        const measured = await measureProfile(model, device, { batchSizes, runs, onProgress }).finally(
          progress.stop,
        );
        writeWhole(out, `${JSON.stringify(measured.profile, null, 2)}\n`);
        process.stdout.write(`${measuredText(measured)}profile: ${out}\n`);
      }
    },
  );
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
  throw new EscapementError('E_USAGE', '--model chooses from a repository, and this is one model');
}

function chosenSizes(
  text: string | undefined,
  { batchSizes, signature }: RepositoryModel,
): readonly number[] {
  if (text === undefined) return batchSizes;
  const sizes = text.split(',').map((size) => wholeNumber(size, 'batch-sizes', 1));
  if (sizes[0] !== 1 || sizes.some((size, i) => i > 0 && size <= sizes[i - 1])) {
    throw new EscapementError('E_USAGE', `--batch-sizes ${text}: start with 1 and ascend`);
  }
  if (signature.batched || sizes.length === 1) return sizes;
  throw new EscapementError('E_USAGE', `--batch-sizes ${text}: the model takes no batches`);
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
    `\nthe first LOAD of all took ${firstLoadMs.toFixed(1)} ms\n`,
    `p99 / median of INFER is at most ${worst.toFixed(2)}: ${verdict(worst)}\n`,
  ].join('');
}

function figures({ medianMs, p99Ms, maxMs, runs }: MeasuredProfile['measurement']['load']) {
  return [...[medianMs, p99Ms, maxMs].map((ms) => ms.toFixed(3)), (p99Ms / medianMs).toFixed(2), runs];
}

/** What the ratio means for a scheduler that plans by past durations. */
function verdict(ratio: number): string {
  if (ratio <= 1.1) return 'durations repeat, so plans made from them hold';
  if (ratio <= 1.5) return 'durations can be planned with where objectives leave that much room';
  return 'durations scatter, so plans made from them often fail; look for what else uses the device';
}
