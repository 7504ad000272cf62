import { keyLabel } from '../../report/quantity.js';
import { hanging } from '../../text/terminal.js';
import { wrap } from '../../text/wrap.js';
import type { Knob } from './knobs.js';
import { aboutLines, differenceLines, nextKnobs, warnings } from './reading.js';
import type { BenchResult } from './result.js';
import { stageTable, sweepTable } from './tables.js';

/** A benchmark for the terminal: texts in lines of at most `columns`. */
export function benchText(result: BenchResult, columns: number): string {
  const { vary } = result;
  const body = vary === null ? single(result, columns) : sweep(result, vary.key, columns);
  const notes = warnings(result).flatMap((text) => ['', ...wrap(`note: ${text}`, columns)]);
  const about = aboutLines(result).flatMap((line) => wrap(line, columns));
  const knobs = knobLines(nextKnobs(result), columns);
  return [...about, '', ...body, ...knobs, ...notes].map((line) => `${line}\n`).join('');
}

function single({ runs: [run] }: BenchResult, columns: number): string[] {
  const { title, reason } = run.verdict;
  return [...stageTable(run), '', ...wrap(`${title}.`, columns), ...wrap(reason, columns)];
}

const LEGEND =
  '±: standard deviation of the trials; ×: compared with the first value; *: best, beyond the noise';

function sweep(result: BenchResult, key: string, columns: number): string[] {
  return [
    ...sweepTable(result),
    '',
    ...wrap(LEGEND, columns),
    ...differenceLines(result).flatMap((line) => ['', ...wrap(line, columns)]),
    ...result.runs.flatMap(({ value, verdict: { title, reason } }) => [
      '',
      ...wrap(`${keyLabel(key)} ${value}: ${title}. ${reason}`, columns),
    ]),
    '',
  ];
}

/** The first has its command on a line of its own, to be copied. */
function knobLines(knobs: readonly Knob[], columns: number): string[] {
  return knobs.flatMap(({ key, why, command }, i) => [
    ...hanging(i === 0 ? 'try' : '', `${key}: ${why}`, 5, columns),
    ...(i === 0 && command !== null ? [`       escapement bench … ${command}`] : []),
  ]);
}
