import { statSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { LiveSource } from '../../run/calibrate/calibrate.js';
import { warn, writeErr } from '../../text/terminal.js';
import { accessFlags, json, print } from '../common-options.js';
import { durationOr, group, list, required, text, usageError, type ValuesOf } from '../options.js';
import { accessOf } from '../token.js';

export const flags = {
  runs: required(
    list(
      'A live run: its folder (run --out), a journal, or a metrics port, http://HOST:8002; then the folder of its simulation',
    ),
  ),
  ...group('Output', { json, out: text('Write the overrides to this file, for --set @FILE') }),
  ...group('Metrics', { for: durationOr('60s', 'Time from the first scrape to the second') }),
  ...accessFlags,
};
export const examples = [
  'calibrate out/live out/simulated --out machine.set',
  'simulate live.yaml --set @machine.set --out out/calibrated',
  'calibrate server.journal out/simulated',
  'calibrate http://10.0.0.1:8002 out/simulated --for 5m',
];
export const notes =
  'Measures both runs from their logs in the same way: mean and spread of INFER durations relative to the profiles, delays ' +
  'of messages, and the time between two INFERs of a lane. Each key is changed by the difference, and the experiment is ' +
  'simulated again. A journal is replayed first; metrics only provide the INFER durations of each model. Run it in the ' +
  'folder in which the simulation ran.';

type Args = ValuesOf<typeof flags>;

/** `escapement calibrate LIVE SIMULATED`: overrides that bring the simulation closer to the live run. */
export async function handler(args: Args): Promise<void> {
  const { calibrate, calibrationText } = await import('../../run/calibrate/calibrate.js');
  const { runs, json, out } = args;
  const [live, simulated, ...more] = runs;
  if (live === undefined || simulated === undefined || more.length > 0)
    throw usageError(`calibrate needs two, a live run and its simulation, found ${runs.length}`);
  if (out !== undefined) checkWritable(out);
  const found = await calibrate(await sourceOf(live, args), simulated);
  warn(found.warnings);
  if (out !== undefined) writeWhole(out, found.overrides.map((line) => `${line}\n`).join(''));
  print({ json }, found, () => calibrationText(found));
  if (out !== undefined) writeErr(`overrides: ${out}\n`);
}

async function sourceOf(live: string, args: Args): Promise<LiveSource> {
  if (!/^https?:/i.test(live))
    return statSync(live, { throwIfNoEntry: false })?.isFile() ? { journal: live } : { dir: live };
  if (args.for === 0) throw usageError('--for: must be longer than 0s');
  const { fetchText } = await import('../../tools/top/fetch-status.js');
  const access = await accessOf(args);
  const scrape = () => fetchText(live, '/metrics', access);
  const first = await scrape();
  writeErr(`counting at ${live} for ${args.for / NS_PER_S} s\n`);
  await setTimeout(args.for / NS_PER_MS);
  return { url: live, first, last: await scrape(), seconds: args.for / NS_PER_S };
}
