import type { Argv } from 'yargs';
import { writeOut } from '../../text/terminal.js';
import { json } from '../common-options.js';
import { type ArgsOf, group, required, text } from '../options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('dir', required(text('Folder with results.json or run.json (--out of sweep or simulate)')))
    .options(group('Options', { json }))
    .example([['$0 report out/azure', '']]);

/** `escapement report DIR`: redraws the charts and report of a results folder. */
export async function handler({ dir, json }: ArgsOf<typeof builder>): Promise<void> {
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
  writeOut(json ? `${JSON.stringify({ report, charts })}\n` : `${text()}report: ${report}\n`);
}
