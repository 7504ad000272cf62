import { DISK_FILES } from '../../base/files/disk-files.js';
import { NS_PER_S } from '../../base/units.js';
import type { ImportedTrace } from '../../import/trace/import-trace.js';
import { PRESETS } from '../../import/trace/presets.js';
import { timeFormatOf } from '../../import/trace/read-time.js';
import { rounded, significant } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { writeErr } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { json, print, quiet } from '../common-options.js';
import {
  choice,
  group,
  list,
  nsOf,
  option,
  required,
  share,
  text,
  type ValuesOf,
  whole,
} from '../options.js';

/** Largest number of models listed. */
const MOST_LISTED = 20;
/** Lines between two reports of progress. */
const PROGRESS_LINES = 1_000_000;

export const flags = {
  files: required(list('Logs: text, CSV, JSON, Parquet; .gz and .zst are unpacked')),
  ...group('Log', {
    preset: choice(Object.keys(PRESETS))('Layout of the log, if it is not recognized'),
    time: text('Field with the time of arrival', 'recognized'),
    'time-format': option(timeFormatOf)(
      'Unit of times that are numbers (s, ms, us, ns), or pattern of texts, e.g. "MM/dd/yyyy h:mm:ss a ZZZ"',
      'recognized',
    ),
    model: text('Field with the model, or a regular expression for its text', 'recognized'),
    length: text('Field with the length of the input', 'recognized'),
    slo: option(sloOf)('SLO of all requests, or a field with SLOs in ms', '100ms, or recognized'),
    class: text('Field with the class of the request', 'recognized'),
    tenant: text('Field with the tenant of the request', 'recognized'),
    'max-bad': share.or('5%', 'Share of the lines that may be unreadable'),
    seed: whole(1).or(1, 'Seed for times that the log lacks'),
  }),
  ...group('Output', {
    out: text.or('arrivals.csv.gz', 'File to write, .csv or .csv.gz; one for each class and tenant'),
    json,
    quiet,
  }),
};
export const examples = [
  'import trace access.log',
  'import trace requests.csv --time timestamp --model model --slo 50ms --out trace.csv.gz',
];
export const notes = `Presets:\n${Object.entries(PRESETS)
  .map(([name, { about }]) => `  ${name}: ${about}`)
  .join('\n')}`;

/** `escapement import trace FILE…`: converts logs to arrivals. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { importTrace } = await import('../../import/trace/import-trace.js');
  let next = PROGRESS_LINES;
  const onLines = (lines: number) => {
    if (lines < next) return;
    writeErr(`${Math.floor(lines / 1e6)} million lines\n`);
    next += PROGRESS_LINES;
  };
  const { preset, time, model, length, class: requestClass, tenant, seed, out } = args;
  const trace = await importTrace(
    DISK_FILES,
    args.files,
    out,
    {
      ...{ preset, time, timeFormat: args['time-format'], model, length, class: requestClass, tenant, seed },
      slo: args.slo,
      maxBad: args['max-bad'],
    },
    args.quiet ? undefined : onLines,
  );
  const { writeYaml } = await import('../../base/files/yaml-text.js');
  const sections = trace.written.map(({ arrivals: _, ...section }) => ({ kind: 'arrivals', ...section }));
  const workload = writeYaml({ workload: sections });
  print(args, trace, () => traceText(trace, workload));
}

/** ns, or the name of a field. */
function sloOf(given: string): number | string {
  return /^\d/.test(given) ? nsOf(given) : given;
}

/** `workload`: section of an experiment. */
function traceText(trace: ImportedTrace, workload: string): string {
  const { lines, arrivals, dropped, models, spanNs, notes } = trace;
  const seconds = spanNs / NS_PER_S;
  const rate = seconds > 0 ? `, ${significant(arrivals / seconds, 4)}/s` : '';
  const listedModels = models
    .slice(0, MOST_LISTED)
    .map(({ name, requests }) => [name, String(requests), `${rounded((requests / arrivals) * 100, 1)} %`]);
  const more = models.length > MOST_LISTED ? `and ${models.length - MOST_LISTED} more models\n` : '';
  return [
    `${plural(arrivals, 'request')} of ${plural(lines, 'line')}: ${plural(models.length, 'model')} in ${rounded(seconds, 3)} s${rate}\n`,
    ...notes.map((note) => `  ${note}\n`),
    ...dropped.map(
      ({ why, count, file, line }) =>
        `  left out: ${plural(count, 'line')}: ${why}; the first: ${file}:${line}\n`,
    ),
    table([['model', 'requests', 'share'], ...listedModels]),
    more,
    workload,
  ].join('');
}
