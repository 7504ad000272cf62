import { NS_PER_US } from '../../../base/units.js';
import type { OperatorRun, OperatorRuns } from '../../operator-runs.js';
import { alignRuns, readOperatorLog, type SpanNs } from '../../ort/operator-log.js';
import type { RecordedLog, RecordedReport } from './protocol.js';

/** Limit on the operators in a recording of one GPU; the earliest are kept. */
const MOST_OPERATORS = 200_000;

/**
 * Operators of INFERs recorded by the host threads of a GPU. `read` returns the text of a profile. The number of
 * operators not recorded is estimated from that per recorded INFER.
 */
export function collectOperators(
  reports: readonly Pick<RecordedReport, 'logs' | 'missed'>[],
  read: (path: string) => string,
): OperatorRuns {
  const operators: OperatorRun[] = [];
  const logs = reports.flatMap((report) => report.logs);
  let missed = reports.reduce((sum, report) => sum + report.missed, 0);
  let count = 0;
  let infers = 0;
  for (const log of logs.sort((a, b) => (a.runs[1] ?? 0) - (b.runs[1] ?? 0))) {
    const runs = inferOperators(log, read(log.path));
    infers += runs.length;
    missed += log.runs.length / RUN_NUMBERS - runs.length;
    for (const run of runs) {
      count += run.length;
      for (const operator of run) if (operators.length < MOST_OPERATORS) operators.push(operator);
    }
  }
  const uncounted = infers === 0 ? 0 : Math.round((missed * count) / infers);
  return { operators, dropped: count - operators.length + uncounted };
}

/** See `RecordedLog.runs`. */
const RUN_NUMBERS = 3;

/** By INFER of the log: its operators, within the time in which it was measured to run. */
function inferOperators({ warmUps, runs }: RecordedLog, text: string): OperatorRun[][] {
  const logged = readOperatorLog(text).slice(warmUps, warmUps + runs.length / RUN_NUMBERS);
  const measured = logged.map((_, i) => ({
    beginNs: runs[RUN_NUMBERS * i + 1],
    endNs: runs[RUN_NUMBERS * i + 2],
  }));
  const offsetsNs = alignRuns(logged, measured);
  return logged.map((run, i) =>
    run.operators.map(({ name, operator, provider, beginUs, tookUs }) => ({
      action: runs[RUN_NUMBERS * i],
      name,
      operator,
      provider,
      beginNs: within(measured[i], offsetsNs[i] + beginUs * NS_PER_US),
      endNs: within(measured[i], offsetsNs[i] + (beginUs + tookUs) * NS_PER_US),
    })),
  );
}

/** Times of the log are truncated to µs. */
function within({ beginNs, endNs }: SpanNs, timeNs: number): number {
  return Math.min(Math.max(timeNs, beginNs), endNs);
}
