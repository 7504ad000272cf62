import { CAUSE_LABELS, CAUSES, type FailureCounts } from '../record/causes.js';
import type { MeasuredSummary } from '../record/figures.js';
import { FEWEST_REQUESTS } from '../record/model-fairness.js';
import type { DrawnRun, GeneratorFigures, ModelFairness, ModelFigures } from '../record/results.js';
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

/** Largest number of models in a table. */
const MOST_MODELS = 20;

/** Models with failed requests, worst first, as many as a table shows. */
export function hurtModels(models: readonly ModelFigures[], most = MOST_MODELS): ModelFigures[] {
  return models.filter(({ requests }) => requests.ok < requests.offered).slice(0, most);
}

/** Attainment below which a model is served badly. */
const LITTLE = 0.9;

/**
 * Models that were served badly: `worst is resnet50 with 0 % of 35 in time; 30 of 305 models below 50 %, 41 below 90 %;
 * 12 with fewer than 20 requests: 38.1 % in time`. Empty if none were, and with only one model.
 */
export function modelsText(fairness: ModelFairness): string {
  const { worstModel, modelsBelow50, modelsBelow90, modelsAssessed, rareModels } = fairness;
  if (modelsAssessed + rareModels.models < 2) return '';
  const isBad = worstModel !== null && worstModel.attainment < LITTLE;
  const [half, most, all, rare] = [modelsBelow50, modelsBelow90, modelsAssessed, rareModels.models].map(
    formatCount,
  );
  return present(
    isBad &&
      `worst is ${worstModel.name} with ${formatPercent(worstModel.attainment)} of ${formatCount(worstModel.offered)} in time`,
    isBad && `${half} of ${all} models below 50 %, ${most} below 90 %`,
    (rareModels.attainment ?? 1) < LITTLE &&
      `${rare} with fewer than ${FEWEST_REQUESTS} requests: ${formatPercent(rareModels.attainment)} in time`,
  ).join('; ');
}

/** Reasons for failures: `1,235 (1.4 %): 1,090 timed out cold, 145 refused`. Empty if none failed or none is known. */
export function failuresText({ failures, requests }: MeasuredSummary): string {
  const failed = requests.offered - requests.ok;
  if (failures === undefined || failed === 0) return '';
  return `${formatCount(failed)} (${formatPercent(failed / requests.offered)}): ${causesText(failures)}`;
}

/** Causes that occurred, most frequent first: `1,090 timed out cold, 145 refused`. */
export function causesText(failures: FailureCounts): string {
  return CAUSES.filter((cause) => failures[cause] > 0)
    .sort((a, b) => failures[b] - failures[a])
    .map((cause) => `${formatCount(failures[cause])} ${CAUSE_LABELS[cause]}`)
    .join(', ');
}
