import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { printable } from '../../base/printable.js';
import type { Profile } from '../../config/profile.js';
import { table } from '../../text/table.js';
import { writeOut } from '../../text/terminal.js';
import { json, quiet } from '../common-options.js';
import { type Measurable, measuringFlags, type Unmeasured } from '../measuring.js';
import { group, text, usageError, type ValuesOf } from '../options.js';
import { cacheFlags, deviceFlags, runtimeFlags } from '../server-options.js';

export const flags = {
  path: text('Model repository, or one model (.onnx); or give --url'),
  ...measuringFlags,
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
};
export const examples = [
  'profile measure models --device cpu',
  'profile measure --url http://127.0.0.1:8000 --model resnet50 --batch-sizes 1,2,4,8',
];
export const notes =
  '--url works with any server of the Open Inference Protocol. It sends one request at a time, as large as a batch, and ' +
  'subtracts the round trip of the network. Nothing else should use the server meanwhile.';

/** `escapement profile measure PATH`: duration of a model on a device of this machine, or with --url on a server. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { openProgress } = await import('../progress.js');
  const { out, json, quiet } = args;
  const failed: Unmeasured[] = [];
  const models = await measurables(args, failed);
  const count = models.length + failed.length;
  const profiles: object[] = [];
  for (const { name, file, measure } of models) {
    const path = out ?? file;
    checkWritable(path);
    const progress = openProgress(`measuring ${name}`, quiet);
    try {
      const { profile, measurement, first, notes } = await measure(progress.update).finally(progress.stop);
      writeWhole(path, `${JSON.stringify(profile, null, 2)}\n`);
      profiles.push({ path, profile, measurement });
      if (!json) writeOut(`${measuredText(profile, first, notes)}profile: ${path}\n`);
    } catch (error) {
      if (!(error instanceof EscapementError)) throw error;
      failed.push({ name, error });
    }
  }
  if (json) writeOut(`${JSON.stringify({ profiles })}\n`);
  if (failed.length === 0) return;
  const [{ error }] = failed;
  if (count === 1) throw error;
  const reasons = failed.map(({ name, error }) => `${name}: ${error.message}`);
  const what = `${failed.length} of ${count} models are not measured: ${reasons.join('; ')}`;
  throw new EscapementError(args.url === undefined ? 'E_MODEL_FILE' : error.code, what);
}

/** Models to measure; those that cannot be read go to `failed`. */
async function measurables(args: ValuesOf<typeof flags>, failed: Unmeasured[]): Promise<Measurable[]> {
  const { path, url } = args;
  if ((url === undefined) === (path === undefined))
    throw usageError('profile measure: give PATH, for models here, or --url, for those of a server');
  if (path !== undefined) return (await import('../measure-here.js')).modelsHere(path, args, failed);
  return (await import('../measure-url.js')).servedModels({ ...args, url: url ?? '' });
}

type Row = Readonly<Pick<Profile['batches'][number], 'medianMs' | 'p99Ms' | 'maxMs' | 'runs'>>;

function measuredText(
  { name, gpu, runtime, batches, length = 0, shorter = [] }: Profile,
  [firstName, first]: readonly [string, Row],
  notes: readonly string[],
): string {
  const tables = [...shorter, { length, batches }];
  const worst = Math.max(...tables.flatMap((each) => each.batches.map(spreadOf)));
  const verdict =
    worst <= 1.1
      ? 'durations are stable enough to plan with'
      : worst <= 1.5
        ? 'durations are stable enough if SLOs leave that much room'
        : 'durations vary too much to plan with; check what else uses the device';
  const rows = tables.flatMap(({ length, batches }) =>
    batches.map((row) => [
      length === 0 ? `INFER, batch ${row.batch}` : `INFER, length ${length}, batch ${row.batch}`,
      ...figures(row),
      Math.round((row.batch * 1000) / row.medianMs),
    ]),
  );
  const header = ['', 'median ms', 'p99 ms', 'max ms', 'p99 / median', 'runs', 'requests/s'];
  const spread = `p99 / median of INFER is at most ${worst.toFixed(2)}: ${verdict}`;
  const lines = ['', ...notes, spread].map((line) => `${line}\n`).join('');
  return `${printable(name)} on ${gpu} (${runtime})\n\n${table([header, [firstName, ...figures(first), '-'], ...rows])}${lines}`;
}

function spreadOf({ medianMs, p99Ms = medianMs }: Row): number {
  return p99Ms / medianMs;
}

function figures({ medianMs, p99Ms = medianMs, maxMs = p99Ms, runs = 0 }: Row): (string | number)[] {
  return [...[medianMs, p99Ms, maxMs].map((ms) => ms.toFixed(3)), (p99Ms / medianMs).toFixed(2), runs];
}
