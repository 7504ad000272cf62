import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { writeWhole } from '../../base/files/output-file.js';
import { cellFlags, experimentFile, json, plugin, print, quiet } from '../common-options.js';
import { group, list, text, type ValuesOf } from '../options.js';

export const flags = {
  file: experimentFile,
  ...group('Scenarios', {
    target: list("Condition to meet, e.g. 'attainment>=99.9%'; figures as for --threshold of simulate"),
    seeds: text.or('1,2,3', 'Seeds to repeat every scenario with, e.g. 1:3; 3 is only the seed 3'),
    set: list('Override a key in every scenario'),
    plugin,
  }),
  ...cellFlags(),
  ...group('Output', {
    json,
    out: text('Write scenarios.json to this folder; an interrupted command resumes there'),
    quiet,
  }),
};
export const examples = ['scenarios run.yaml', "scenarios run.yaml --target 'attainment>=99%' --json"];
export const notes =
  'Runs the experiment under the scenarios of its file, and under these: traffic times 1.5, 2 and 3; one GPU of each kind ' +
  'lost permanently; the model with the most requests times 5; INFERs 20 % slower than profiled. With targets, also finds the ' +
  'highest traffic factor at which they hold. Exit code 3: they hold at no factor.';

/** Expected number of runs in addition to the scenarios of the file. */
const BUILT_IN = 8;
const OF_HEADROOM = 7;

/** `escapement scenarios FILE`: an experiment under what-if scenarios. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { out } = args;
  const { runCells } = await import('../cell-runs.js');
  const { runScenarios } = await import('../../run/plan/what-ifs.js');
  const { headroomText, scenariosText } = await import('../../run/plan/document.js');
  const words = { label: 'scenarios', noun: 'run', outDir: out } as const;
  const results = await runCells(args, words, (request, runs) =>
    runScenarios({
      ...{ ...request, targets: args.target },
      onStart: (seeds, own) => {
        const expected = own + BUILT_IN + (args.target.length === 0 ? 0 : OF_HEADROOM);
        runs.begin(seeds.length * expected, `seed ${seeds.join(', ')}: scenarios, ${runs.place}\n`, true);
      },
    }),
  );
  if (out !== undefined) writeWhole(join(out, 'scenarios.json'), `${JSON.stringify(results)}\n`);
  print(args, results, () => scenariosText(results));
  const { targets, headroom } = results;
  if (headroom !== null && headroom.holds === null)
    throw new EscapementError('E_THRESHOLD', headroomText(targets, headroom));
}
