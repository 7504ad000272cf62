import { json, print } from '../common-options.js';
import { group, required, text, type ValuesOf } from '../options.js';

export const flags = {
  dir: required(text('Folder with results.json or run.json (--out of sweep or simulate)')),
  ...group('Options', { json }),
};
export const examples = ['report out/azure'];

/** `escapement report DIR`: redraws the charts and report of a results folder. */
export async function handler({ dir, json }: ValuesOf<typeof flags>): Promise<void> {
  const { loadResults } = await import('../../report/load.js');
  // Chart libraries take half a second to load, which other commands avoid.
  const { writeRunReport, writeSweepReport } = await import('../../report/pages/write-results.js');
  const { summaryText } = await import('../../report/terminal/summary-text.js');
  const loaded = loadResults(dir);
  const [report, ...charts] =
    loaded.kind === 'sweep'
      ? await writeSweepReport(loaded.results, dir)
      : await writeRunReport(loaded.run, dir);
  const text = () => summaryText(loaded.kind === 'sweep' ? loaded.results : loaded.run);
  print({ json }, { report, charts }, () => `${text()}report: ${report}\n`);
}
