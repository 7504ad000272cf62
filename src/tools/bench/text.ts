import { formatBytes } from '../../config/units-text.js';
import { keyLabel } from '../../report/quantity.js';
import { formatFactor, formatPercent, formatSlo, significant } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { hanging } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { wrap } from '../../text/wrap.js';
import { rateText, shareText, spreadText } from './figures.js';
import {
  type BenchResult,
  type BenchRun,
  type Knob,
  STAGE_TITLES,
  STAGES,
  type StageSummary,
  stageOf,
} from './result.js';
import { generatorLimits, surelyBest } from './verdict.js';

const LEGEND =
  '±: standard deviation of the trials; ×: compared with the first value; *: best, beyond the noise';
/** Others may use this share of the machine before it is said. */
const TOLERATED_OTHERS = 0.1;

/** A benchmark for the terminal: texts in lines of at most `columns`. */
export function benchText(result: BenchResult, columns: number): string {
  const { vary, runs } = result;
  const verdicts = runs.map(({ value, verdict: { title, reason } }) =>
    vary === null ? [`${title}.`, reason] : ['', `${keyLabel(vary.key)} ${value}: ${title}. ${reason}`],
  );
  return [
    ...aboutLines(result).flatMap((line) => wrap(line, columns)),
    '',
    ...(vary === null ? stageTable(runs[0]) : [`by ${keyLabel(vary.key)}:`, '', ...sweepTable(runs)]),
    '',
    ...(vary === null ? [] : wrap(LEGEND, columns)),
    ...differenceLines(result).flatMap((line) => ['', ...wrap(line, columns)]),
    ...verdicts.flat().flatMap((line) => wrap(line, columns)),
    ...(vary === null ? [] : ['']),
    ...knobLines(nextKnobs(result), columns),
    ...warnings(result).flatMap((text) => ['', ...wrap(`note: ${text}`, columns)]),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** What was measured, and how. */
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

/** The stages of one run. */
function stageTable(run: BenchRun): string[] {
  const rows = run.stages.map((stage) => [
    STAGE_TITLES[stage.stage],
    spreadText(stage.throughputRps),
    meanText(stage.p50Ms),
    meanText(stage.p99Ms),
    noteOf(stage, run),
  ]);
  return alignColumns([['', 'requests/s', 'p50 ms', 'p99 ms', ''], ...rows], [0, -1]);
}

/** The values of the key one below the other, stage by stage. */
function sweepTable(runs: readonly BenchRun[]): string[] {
  const names = STAGES.filter((name) => runs[0].stages.some(({ stage }) => stage === name));
  const rows = names.flatMap((name) => {
    const stages = runs.map((run) => stageOf(run.stages, name));
    const best = surelyBest(stages.map(({ throughputRps }) => throughputRps));
    return stages.map((stage, i) => [
      i === 0 ? STAGE_TITLES[name] : '',
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

/** What the stage was at. */
function noteOf({ stage, service }: StageSummary, { batchSizes }: BenchRun): string {
  if (service === null) return `batch ${[...new Set(batchSizes.filter((size) => size !== null))].join(', ')}`;
  const { server, generator, meanBatch, deviceBusy, failedShare } = service;
  const failed = failedShare < 0.0005 ? '' : `, ${formatPercent(failedShare)} failed`;
  const busy =
    stage === 'full'
      ? `batch ${meanBatch.toFixed(1)}, busy ${shareText(deviceBusy)}`
      : `server ${shareText(server.busy)}, clients ${shareText(generator.busy)}`;
  return `${busy}${failed}`;
}

/** What to try next, beginning with the run whose FULL serves most; what was varied has been tried. */
export function nextKnobs({ runs, vary }: BenchResult): readonly Knob[] {
  const full = ({ stages }: BenchRun) => stageOf(stages, 'full').throughputRps.mean;
  const best = runs.reduce((most, run) => (full(run) > full(most) ? run : most));
  return best.verdict.knobs.filter(({ key }) => key !== vary?.key);
}

/** The first has its command on a line of its own, to be copied. */
function knobLines(knobs: readonly Knob[], columns: number): string[] {
  return knobs.flatMap(({ key, why, command }, i) => [
    ...hanging(i === 0 ? 'try' : '', `${key}: ${why}`, 5, columns),
    ...(i === 0 && command !== null ? [`       escapement bench … ${command}`] : []),
  ]);
}

/** What makes figures less than they could be. */
export function warnings({ runs, cores, vary }: BenchResult): string[] {
  const limited = runs.flatMap(({ value, stages }) =>
    stages.flatMap(({ stage, service }) => {
      if (service === null || !generatorLimits(service)) return [];
      const at = vary === null ? '' : ` at ${keyLabel(vary.key)} ${value}`;
      const busy = `${shareText(service.generator.busy)} busy, the server's ${shareText(service.server.busy)}`;
      return [`${STAGE_TITLES[stage]}${at} is a lower bound: the clients could not send more (${busy})`];
    }),
  );
  const others = Math.max(...runs.flatMap(({ stages }) => stages.map(({ otherCores }) => otherCores)));
  if (others <= TOLERATED_OTHERS * cores) return limited;
  return [
    ...limited,
    `other programs used up to ${others.toFixed(1)} of ${cores} cores meanwhile: the figures are too low, and differences may be due to those programs`,
  ];
}

/** What FP16 changes in the outputs, a line each model. */
export function differenceLines({ precision }: BenchResult): string[] {
  return (precision ?? []).map(({ model, requests, maxAbsolute, maxRelative, overflowed, sameLargest }) => {
    const most = `${maxAbsolute.toPrecision(2)}, ${significant(100 * maxRelative, 2)} % of the largest`;
    const same = `the largest is the same in ${formatPercent(sameLargest)} of ${requests} requests`;
    const lost = overflowed === 0 ? '' : `; ${formatPercent(overflowed)} of the values overflow in fp16`;
    return `${model}: outputs at fp16 differ from those at fp32 by at most ${most}; ${same}${lost}`;
  });
}
