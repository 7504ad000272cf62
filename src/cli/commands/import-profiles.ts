import { DISK_FILES } from '../../base/files/disk-files.js';
import { TIME_UNITS } from '../../import/profiles/tables.js';
import { table } from '../../text/table.js';
import { plural } from '../../text/words.js';
import { json, print } from '../common-options.js';
import { choice, group, list, ratio, required, text, usageError, type ValuesOf, whole } from '../options.js';

export const flags = {
  files: required(list('Measurements: tables, trtexec, perf_analyzer, MLPerf, journals')),
  ...group('Measurements', {
    model: text('Column with the model, or the model of files without one', 'recognized'),
    gpu: text('GPU of files that name none'),
    precision: text('Precision of files that name none, e.g. FP16'),
    batch: whole(1)('Batch size of files that name none', 'as in NAME_b8.csv'),
    unit: choice(TIME_UNITS)('Unit of latencies whose column has none'),
    where: list('Use only rows with this text in a column, e.g. precision=FP16'),
    spread: ratio('Ratio of p99 to median of an INFER, if percentiles are not known', 'none'),
  }),
  ...group('Output', { out: text.or('profiles', 'Folder for the profiles'), json }),
};
export const examples = [
  'import profiles measurements.csv',
  'import profiles resnet50_b1.log resnet50_b8.log --gpu t4',
];

/** `escapement import profiles FILE…`: converts measurements of other tools to profiles. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { importProfiles } = await import('../../import/profiles/import-profiles.js');
  const where = args.where.map((each): [string, string] => {
    const at = each.indexOf('=');
    if (at < 1) throw usageError(`--where ${each}: must be COLUMN=TEXT, such as precision=FP16`);
    return [each.slice(0, at), each.slice(at + 1)];
  });
  const { files, out, model, gpu, precision, batch, unit, spread } = args;
  const options = { model, gpu, precision, batch, unit, where, spread };
  const imported = await importProfiles(DISK_FILES, files, out, options);
  const { written, kinds, models, notes } = imported;
  const { writeYaml } = await import('../../base/files/yaml-text.js');
  const rows = written.map(({ model, gpu, profile, path }) => {
    const { batches } = profile;
    const [first, last] = [batches[0]!, batches[batches.length - 1]!];
    const perS = Math.max(...batches.map(({ batch, medianMs }) => (1000 * batch) / medianMs));
    return [model, gpu || '–', `${first.medianMs} ms`, String(last.batch), String(Math.round(perS)), path];
  });
  print(args, imported, () =>
    [
      `${plural(written.length, 'profile')} of ${plural(models.length, 'model')}\n`,
      ...notes.map((note) => `  ${note}\n`),
      table([['model', 'GPU', 'batch 1', 'largest batch', 'most requests/s', 'profile'], ...rows]),
      kinds.length > 1 ? writeYaml({ cluster: { gpus: kinds.map((kind) => ({ kind, count: 1 })) } }) : '',
      writeYaml({ models }),
    ].join(''),
  );
}
