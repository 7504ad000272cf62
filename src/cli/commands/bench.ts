import { join } from 'node:path';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { usableCores } from '../../base/limits/usable.js';
import { NS_PER_S } from '../../base/units.js';
import { PROVIDERS } from '../../live/device.js';
import { terminalWidth, writeErr } from '../../text/terminal.js';
import { json, plugin, print, quiet } from '../common-options.js';
import { interruptible } from '../interruption.js';
import { choice, duration, group, list, text, usageError, type ValuesOf, whole } from '../options.js';
import type { Progress } from '../progress.js';
import { packageVersion } from '../version.js';

const DEFAULT_TRIALS = 6;

export const flags = {
  ...group('Subject', {
    repository: text('Models to measure, as NAME/VERSION/model.onnx'),
    experiment: text('Experiment file with settings'),
    device: text(
      `Execution provider: ${PROVIDERS.join(', ')}; with --vary gpus=1,2 also simulated:PROFILE`,
      'cpu',
    ),
    adapter: whole(0).or(0, 'Index of the GPU, where the provider can choose one'),
    set: list('Override a setting, e.g. runtime.intraOpThreads=2 or slo=1s'),
    plugin,
  }),
  ...group('Measurement', {
    vary: text(
      'Repeat everything for each value of a key, e.g. runtime.intraOpThreads=1,2; gpus=1,2,4 measures the whole server on more and more GPUs',
    ),
    protocol: choice(['http', 'grpc']).or('http', 'Protocol of the clients'),
    concurrency: whole(1)('Closed-loop clients', 'two full batches of each model, at least 16'),
    trials: whole(1).or(DEFAULT_TRIALS, 'Trials of each stage'),
    duration: duration.or('2s', 'Length of a trial, after a warm-up'),
  }),
  ...group('Output', {
    json,
    out: text('Folder for the result as JSON'),
    quiet,
  }),
};
export const examples = [
  'bench --repository models',
  'bench --repository models --vary runtime.intraOpThreads=1,2,4 --out out/bench',
  'bench --vary gpus=1,2,4,8 --device simulated:PROFILE.json',
];
export const notes = [
  'Stages, one after the other, with the same models and tensors:\n' +
    '  IO         frontend, decoding, scheduler, transport; the device takes no time\n' +
    '  SYNTHETIC  the device alone, full batches back to back\n' +
    '  FULL       the whole server on the device',
  'The clients are closed loops in this process; the result says how busy it was. ± is the spread of the trials.',
].join('\n\n');

type BenchArgs = ValuesOf<typeof flags>;

export async function handler(args: BenchArgs): Promise<void> {
  const { out, vary, protocol, set, trials, concurrency, duration, quiet } = args;
  if (duration <= 0) throw usageError('--duration: must be longer than 0s');
  const file = out === undefined ? null : join(out, 'bench.json');
  if (file !== null) checkWritable(file);
  const { GPUS, parseVary } = await import('../../tools/bench/vary.js');
  const varied = vary === undefined ? null : parseVary(vary);
  const { bench } = await import('../../tools/bench/bench.js');
  const { checkDevice, openSubject } = await import('../bench-subject.js');
  const { openProgress } = await import('../progress.js');
  let progress: Progress | undefined;
  const said = new Set<string>();
  const say = (what: string) => {
    // Values of --vary share most messages.
    if (!quiet && !said.has(what)) writeErr(`bench: ${what}\n`);
    said.add(what);
  };
  const measuring = () =>
    bench({
      ...{ vary: varied, protocol, trials },
      clients: concurrency ?? null,
      seconds: duration / NS_PER_S,
      cores: usableCores(),
      version: packageVersion(),
      async open(overrides, gpus) {
        const subject = await openSubject({ ...args, set: [...set, ...overrides] }, gpus, say);
        if (varied?.key !== GPUS) checkDevice(subject);
        return subject;
      },
      onProgress(fraction, next) {
        progress ??= openProgress('bench', quiet);
        progress.update(fraction, next);
      },
    });
  const result = await interruptible(measuring, () => 'nothing was written').finally(() => progress?.stop());
  if (file !== null) writeWhole(file, `${JSON.stringify(result, null, 2)}\n`);
  const { benchText } = await import('../../tools/bench/text.js');
  const written = file === null ? '' : `\nresult: ${file}\n`;
  print(args, result, () => benchText(result, terminalWidth()) + written);
}
