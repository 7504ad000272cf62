import { loadResults } from '../../report/load.js';
import { writeOut } from '../../text/terminal.js';
import type { ReportArgs } from '../commands/report.js';

/** `escapement report DIR`: draws the charts and the report of a results folder again. */
export async function run({ dir, json }: ReportArgs): Promise<void> {
  // Charts bring half a second of libraries with them: other commands do without.
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
