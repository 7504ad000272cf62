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
import { generatorLimits, surelyBest } from './bottleneck.js';
import {
  type BenchResult,
  type BenchRun,
  type Bottleneck,
  STAGES,
  type StageSummary,
  stageOf,
} from './result.js';

const LEGEND =
  '±: standard deviation of the trials; ×: compared with the first value; *: best, beyond the noise';
const BOTTLENECKS: Readonly<Record<Bottleneck, string>> = {
  io: 'IO',
  device: 'the device',
  between: 'between IO and the device',
  generator: 'the clients of the benchmark, not the server',
  unclear: 'not clear: the differences are within the noise of the trials',
};
/** Share of the machine that other programs may use without a warning. */
const TOLERATED_OTHERS = 0.1;

/** A benchmark for the terminal, with texts in lines of at most `columns`. */
export function benchText(result: BenchResult, columns: number): string {
  const { vary, runs } = result;
  const bottlenecks = runs.flatMap(({ value, bottleneck }) => {
    if (bottleneck === null) return [];
    const at = vary === null ? '' : ` at ${keyLabel(vary.key)} ${value}`;
    return [`bottleneck${at}: ${BOTTLENECKS[bottleneck]}`];
  });
  const notes = [...differenceLines(result), ...warnings(result).map((text) => `note: ${text}`)];
  return [
    ...aboutLines(result).flatMap((line) => wrap(line, columns)),
    '',
    ...(vary === null ? stageTable(runs[0]) : [`by ${keyLabel(vary.key)}:`, '', ...sweepTable(runs)]),
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
  const asked = models.filter(({ share }) => share > 0);
  const names = asked.map(({ name, share, inputBytes, outputBytes }) => {
    const ofAll = asked.length === 1 ? '' : ` ${shareText(share)}`;
    return `${name}${ofAll} (${formatBytes(inputBytes)} in, ${formatBytes(outputBytes)} out)`;
  });
  const slos = [...new Set(runs.map(({ sloMs }) => formatSlo(sloMs)))].join(' or ');
  const clients = `${runs[0].clients} clients over ${protocol === 'http' ? 'HTTP' : 'gRPC'}`;
  return [
    names.join(', '),
    device.text,
    `${plural(trials, 'trial')} of ${seconds} s, ${clients}, SLO ${slos}`,
  ];
}

/** Table of the stages of one run. */
function stageTable(run: BenchRun): string[] {
  const rows = run.stages.map((stage) => [
    STAGES[stage.stage],
    spreadText(stage.throughputRps),
    meanText(stage.p50Ms),
    meanText(stage.p99Ms),
    noteOf(stage, run),
  ]);
  return alignColumns([['', 'requests/s', 'p50 ms', 'p99 ms', ''], ...rows], [0, -1]);
}

/** Table of the varied values, stage by stage. */
function sweepTable(runs: readonly BenchRun[]): string[] {
  const rows = runs[0].stages.flatMap(({ stage: name }) => {
    const stages = runs.map((run) => stageOf(run, name));
    const best = surelyBest(stages.map(({ throughputRps }) => throughputRps));
    return stages.map((stage, i) => [
      i === 0 ? STAGES[name] : '',
      runs[i].value ?? '',
      spreadText(stage.throughputRps),
      `${formatFactor(stage.throughputRps.mean / stages[0].throughputRps.mean)}${best === i ? '*' : ' '}`,
      meanText(stage.p99Ms),
      noteOf(stage, runs[i]),
    ]);
  });
  return alignColumns([['', '', 'requests/s', '', 'p99 ms', ''], ...rows], [0, 1, -1]);
}

function meanText(figure: StageSummary['p99Ms']): string {
  return figure === null ? '–' : rateText(figure.mean);
}

/** Activity of clients, server and device. */
function noteOf({ stage, service }: StageSummary, { batchSizes }: BenchRun): string {
  if (service === null) return `batch ${[...new Set(batchSizes.filter((size) => size !== null))].join(', ')}`;
  const { server, generator, meanBatch, deviceBusy, failedShare } = service;
  return [
    ...(stage === 'full' ? [`batch ${meanBatch.toFixed(1)}`, `device ${shareText(deviceBusy)}`] : []),
    `server ${shareText(server.busy)}`,
    ...(stage === 'full' ? [] : [`clients ${shareText(generator.busy)}`]),
    ...(failedShare < 0.0005 ? [] : [`${formatPercent(failedShare)} failed`]),
  ].join(', ');
}

/** Circumstances that lower the figures. */
function warnings({ runs, cores, vary }: BenchResult): string[] {
  const limited = runs.flatMap(({ value, stages }) =>
    stages
      .filter(({ service }) => generatorLimits(service))
      .map(({ stage }) => {
        const at = vary === null ? '' : ` at ${keyLabel(vary.key)} ${value}`;
        return `${STAGES[stage]}${at} is a lower bound: the clients could not send more`;
      }),
  );
  const others = Math.max(...runs.flatMap(({ stages }) => stages.map(({ otherCores }) => otherCores)));
  if (others <= TOLERATED_OTHERS * cores) return limited;
  return [...limited, `other programs used up to ${others.toFixed(1)} of ${cores} cores meanwhile`];
}

/** Effect of FP16 on the outputs, one line per model. */
function differenceLines({ precision }: BenchResult): string[] {
  return (precision ?? []).map(({ model, requests, maxAbsolute, maxRelative, overflowed, sameLargest }) => {
    const most = `${maxAbsolute.toPrecision(2)}, ${significant(100 * maxRelative, 2)} % of the largest`;
    const same = `the largest is the same in ${formatPercent(sameLargest)} of ${requests} requests`;
    const lost = overflowed === 0 ? '' : `; ${formatPercent(overflowed)} of the values overflow in fp16`;
    return `${model}: outputs at fp16 differ from those at fp32 by at most ${most}; ${same}${lost}`;
  });
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
