import { formatBytes } from '../../config/units-text.js';
import { keyLabel } from '../../report/quantity.js';
import type { Estimate } from '../../report/statistics.js';
import {
  formatCount,
  formatFactor,
  formatPercent,
  formatRate,
  formatSlo,
  round3,
  significant,
} from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { plural } from '../../text/words.js';
import { wrap } from '../../text/wrap.js';
import { generatorLimits } from './bottleneck.js';
import {
  type BenchResult,
  type BenchRun,
  type Bottleneck,
  STAGES,
  type StageSummary,
  stageOf,
} from './result.js';

const LEGEND = '±: standard deviation of the trials; ×: compared with the first value';
const BOTTLENECKS: Readonly<Record<Bottleneck, string>> = {
  io: 'IO',
  device: 'the device',
  between: 'between IO and the device',
  generator: 'the clients of the benchmark, not the server',
  unclear: 'not clear: the differences are within the noise of the trials',
};

/** A benchmark for the terminal, with texts in lines of at most `columns`. */
export function benchText(result: BenchResult, columns: number): string {
  const { vary, runs } = result;
  const bottlenecks = runs.flatMap(({ value, bottleneck }) => {
    if (bottleneck === null) return [];
    const at = vary === null ? '' : ` at ${keyLabel(vary.key)} ${value}`;
    return [`bottleneck${at}: ${BOTTLENECKS[bottleneck]}`];
  });
  const notes = warnings(result).map((text) => `note: ${text}`);
  return [
    ...aboutLines(result).flatMap((line) => wrap(line, columns)),
    '',
    ...(vary === null ? [] : [`by ${keyLabel(vary.key)}:`, '']),
    ...stageTable(result),
    '',
    ...(vary === null ? [] : [...wrap(LEGEND, columns), '']),
    ...bottlenecks.flatMap((line) => wrap(line, columns)),
    ...notes.flatMap((line) => ['', ...wrap(line, columns)]),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** Setup of the measurement. */
function aboutLines({ models, runs, trials, seconds, protocol, device }: BenchResult): string[] {
  const names = models.map(
    ({ name, inputBytes, outputBytes }) =>
      `${name} (${formatBytes(inputBytes)} in, ${formatBytes(outputBytes)} out)`,
  );
  const slos = [...new Set(runs.map(({ sloMs }) => formatSlo(sloMs)))].join(' or ');
  const clients = `${runs[0].clients} clients over ${protocol === 'http' ? 'HTTP' : 'gRPC'}`;
  return [
    names.join(', '),
    device.text,
    `${plural(trials, 'trial')} of ${seconds} s, ${clients}, SLO ${slos}`,
  ];
}

/** Table of the stages, with each value if a key was varied. */
function stageTable({ runs, vary }: BenchResult): string[] {
  const varied = (...cells: string[]) => (vary === null ? [] : cells);
  const rows = runs[0].stages.flatMap(({ stage: name }) => {
    const stages = runs.map((run) => stageOf(run, name));
    return stages.map((stage, i) => [
      ...[i === 0 ? STAGES[name] : '', ...varied(runs[i].value ?? ''), spreadText(stage.throughputRps)],
      ...varied(formatFactor(stage.throughputRps.mean / stages[0].throughputRps.mean)),
      ...(vary === null ? [meanText(stage.p50Ms)] : []),
      ...[meanText(stage.p99Ms), noteOf(stage, runs[i])],
    ]);
  });
  const median = vary === null ? ['p50 ms'] : [];
  const header = ['', ...varied(''), 'requests/s', ...varied(''), ...median, 'p99 ms', ''];
  return alignColumns([header, ...rows], vary === null ? [0, -1] : [0, 1, -1]);
}

function meanText(figure: StageSummary['p99Ms']): string {
  return figure === null ? '–' : rateText(figure.mean);
}

/** Activity of clients, server and device. */
function noteOf({ stage, service }: StageSummary, { batchSizes }: BenchRun): string {
  if (service === null) return `batch ${[...new Set(batchSizes)].join(', ')}`;
  const { server, generator, meanBatch, deviceBusy, failedShare } = service;
  return [
    ...(stage === 'full' ? [`batch ${meanBatch.toFixed(1)}`, `device ${shareText(deviceBusy)}`] : []),
    `server ${shareText(server.busy)}`,
    ...(stage === 'full' ? [] : [`clients ${shareText(generator.busy)}`]),
    ...(failedShare < 0.0005 ? [] : [`${formatPercent(failedShare)} failed`]),
  ].join(', ');
}

/** Stages whose figures are lower bounds. */
function warnings({ runs, vary }: BenchResult): string[] {
  return runs.flatMap(({ value, stages }) =>
    stages
      .filter(({ service }) => generatorLimits(service))
      .map(({ stage }) => {
        const at = vary === null ? '' : ` at ${keyLabel(vary.key)} ${value}`;
        return `${STAGES[stage]}${at} is a lower bound: the clients could not send more`;
      }),
  );
}

/** `5,210 ± 90`: mean and standard deviation. */
function spreadText({ mean, sd, n }: Estimate): string {
  const middle = rateText(mean);
  return n < 2 ? middle : `${middle} ± ${rateText(significant(sd, 2))}`;
}

/** Three digits, and whole numbers from 1,000 on. */
function rateText(value: number): string {
  return value >= 1000 ? formatCount(value) : formatRate(round3(value));
}

/** `93 %`. */
function shareText(share: number): string {
  return share > 0 && share < 0.005 ? '<1 %' : `${Math.round(100 * share)} %`;
}
