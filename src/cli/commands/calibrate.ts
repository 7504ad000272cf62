import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { warn, writeErr } from '../../text/terminal.js';
import { json, print } from '../common-options.js';
import { group, list, required, text, usageError, type ValuesOf } from '../options.js';

export const flags = {
  runs: required(
    list('Folder of a live run (run --out), then of its simulation (run --mode simulate --out)'),
  ),
  ...group('Output', { json, out: text('Write the overrides to this file, for --set @FILE') }),
};
export const examples = [
  'calibrate out/live out/simulated --out machine.set',
  'simulate live.yaml --set @machine.set --out out/calibrated',
];
export const notes =
  'Measures both runs by their logs in the same way: durations of INFERs relative to the profiles, how they spread, delays ' +
  'of messages, and the time that lanes take between two INFERs. Each key moves by the difference, and the experiment is ' +
  'simulated again. Start it in the folder in which the simulation was started.';

/** `escapement calibrate LIVE SIMULATED`: keys with which the simulation is closer to the live run. */
export async function handler({ runs, json, out }: ValuesOf<typeof flags>): Promise<void> {
  const { calibrate, calibrationText } = await import('../../run/calibrate/calibrate.js');
  const [live, simulated, ...more] = runs;
  if (live === undefined || simulated === undefined || more.length > 0)
    throw usageError(`calibrate needs two folders, a live run and its simulation, found ${runs.length}`);
  if (out !== undefined) checkWritable(out);
  const found = await calibrate(live, simulated);
  warn(found.warnings);
  if (out !== undefined) writeWhole(out, found.overrides.map((line) => `${line}\n`).join(''));
  print({ json }, found, () => calibrationText(found));
  if (out !== undefined) writeErr(`overrides: ${out}\n`);
}
