import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { warn, writeErr } from '../../text/terminal.js';
import { json, print } from '../common-options.js';
import { group, list, required, text, usageError, type ValuesOf } from '../options.js';

export const flags = {
  runs: required(list('A live run: its folder (run --out) or a journal; then the folder of its simulation')),
  ...group('Output', { json, out: text('Write the overrides to this file, for --set @FILE') }),
};
export const examples = [
  'calibrate out/live out/simulated --out machine.set',
  'simulate live.yaml --set @machine.set --out out/calibrated',
  'calibrate server.journal out/simulated',
];
export const notes =
  'Compares durations of INFERs, delays of messages and gaps between INFERs in the logs of both runs, changes each key by ' +
  'the difference, and simulates the experiment again. Run it in the folder in which the simulation ran.';

/** `escapement calibrate LIVE SIMULATED`: overrides that bring the simulation closer to the live run. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { calibrate, calibrationText } = await import('../../run/calibrate/calibrate.js');
  const { runs, json, out } = args;
  const [live, simulated, ...more] = runs;
  if (live === undefined || simulated === undefined || more.length > 0)
    throw usageError(`calibrate needs two, a live run and its simulation, found ${runs.length}`);
  if (out !== undefined) checkWritable(out);
  const found = await calibrate(live, simulated);
  warn(found.warnings);
  if (out !== undefined) writeWhole(out, found.overrides.map((line) => `${line}\n`).join(''));
  print({ json }, found, () => calibrationText(found));
  if (out !== undefined) writeErr(`overrides: ${out}\n`);
}
