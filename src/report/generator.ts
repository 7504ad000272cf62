import type { DrawnRun, GeneratorFigures } from '../record/results.js';
import { formatCount, formatPercent, significant } from '../text/numbers.js';
import { present } from './lists.js';

/** Tolerated lateness of requests, as a share of the SLO, or of the executed median if SLOs differ. */
const LATE_SHARE = 0.1;
/** Tolerated share of requests that waited for a connection: latencies include that wait. */
const WAITED_SHARE = 0.01;

/** Quality of request sending and timers, a sentence each. */
export function generatorLines({ summary: { kind, generator } }: Pick<DrawnRun, 'summary'>): string[] {
  if (generator === undefined) return [];
  const { sentLateMs, timersLateMs, retries } = generator;
  return present(
    sentLateMs &&
      `requests were ${kind === 'load' ? 'sent' : 'offered'} ${latenessText(sentLateMs)} later than intended`,
    timersLateMs && `timers fired ${latenessText(timersLateMs)} late`,
    retries &&
      `${formatCount(retries.requests)} requests were sent again, ${formatCount(retries.attempts)} times in all`,
  );
}

/** Why figures of a run describe the machine that sent its requests rather than the server; empty if reliable. */
export function generatorWarnings({ summary, sloMs }: Pick<DrawnRun, 'summary' | 'sloMs'>): string[] {
  const { generator, requests, executedLatencyMs, kind } = summary;
  if (generator === undefined) return [];
  const { sentLateMs, timersLateMs, waitedForConnection, notSent } = generator;
  const mostMs = LATE_SHARE * (sloMs ?? executedLatencyMs.p50 ?? Number.POSITIVE_INFINITY);
  const late = (what: string, figures: GeneratorFigures['sentLateMs']) =>
    figures !== undefined &&
    figures.p99 > mostMs &&
    `${what} late (p99 ${ms(figures.p99)}), by more than a tenth of ${sloMs === null ? 'the executed median' : 'the SLO'}: figures may describe the load generator`;
  const waited = waitedForConnection / requests.offered;
  return present(
    late(kind === 'load' ? 'requests were sent' : 'requests were offered', sentLateMs),
    late('timers fired', timersLateMs),
    waited > WAITED_SHARE &&
      `${formatPercent(waited)} of the requests waited for a free connection, and their latencies include the wait; raise --connections`,
    notSent > 0 && `${formatCount(notSent)} requests were not sent because too many were unanswered`,
  );
}

function latenessText({ p50, p99, max }: NonNullable<GeneratorFigures['sentLateMs']>): string {
  return `p50 ${ms(p50)}, p99 ${ms(p99)}, max ${ms(max)}`;
}

function ms(value: number): string {
  return `${significant(value, 3)} ms`;
}
