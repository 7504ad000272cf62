import { formatBytes } from '../../config/units-text.js';
import { keyLabel } from '../../report/quantity.js';
import { formatPercent, formatSlo, significant } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import { shareText } from './figures.js';
import type { Knob } from './knobs.js';
import type { BenchResult, BenchRun, StageSummary } from './result.js';
import { STAGE_TITLES, STAGES, type StageName } from './stage.js';
import { generatorLimits } from './verdict.js';

/** Fewer failures than this are not worth a word. */
const LEAST_FAILED = 0.0005;
/** Others may use this share of the machine before it is said. */
const TOLERATED_OTHERS = 0.1;

/** The run whose FULL serves most. */
export function bestRun({ runs }: BenchResult): BenchRun {
  const full = (run: BenchRun) => stageOf(run, 'full').throughputRps.mean;
  return runs.reduce((best, run) => (full(run) > full(best) ? run : best));
}

/** What to try next, beginning with the best run; what was varied has been tried. */
export function nextKnobs(result: BenchResult): readonly Knob[] {
  return bestRun(result).verdict.knobs.filter(({ key }) => key !== result.vary?.key);
}

/** Every run has all stages but `remote`. */
export function stageOf({ stages }: BenchRun, name: StageName): StageSummary {
  return stages.find(({ stage }) => stage === name) as StageSummary;
}

/** Stages of a run in the order of the pipeline. */
export function shownStages({ stages }: BenchRun): StageName[] {
  return STAGES.filter((name) => stages.some(({ stage }) => stage === name));
}

/** What was measured, and how. */
export function aboutLines({ models, runs, trials, seconds, protocol, device }: BenchResult): string[] {
  const asked = models.filter(({ share }) => share > 0);
  const names = asked.map(
    ({ name, share, inputBytes, outputBytes }) =>
      `${name}${asked.length === 1 ? '' : ` ${shareText(share)}`} (${formatBytes(inputBytes)} in, ${formatBytes(outputBytes)} out)`,
  );
  const clients = [...new Set(runs.map((run) => run.clients))].join(' or ');
  const slos = [...new Set(runs.map(({ sloMs }) => formatSlo(sloMs)))].join(' or ');
  const counted = `${plural(trials, 'trial')} of ${seconds} s`;
  return [
    names.join(', '),
    device.text,
    `${counted}, ${clients} clients over ${protocol === 'http' ? 'HTTP' : 'gRPC'}, SLO ${slos}`,
  ];
}

/** What the stage was at. */
export function noteOf({ stage, service }: StageSummary, { batchSizes }: BenchRun): string {
  if (service === null) {
    const sizes = [...new Set(batchSizes.filter((size) => size !== null))];
    return `batch ${sizes.join(', ')}`;
  }
  const { server, generator, meanBatch, deviceBusy } = service;
  return stage === 'full'
    ? `batch ${meanBatch.toFixed(1)}, busy ${shareText(deviceBusy)}`
    : `server ${shareText(server.busy)}, clients ${shareText(generator.busy)}`;
}

/** Share of the requests without a result; null: none to speak of. */
export function failedText({ service }: StageSummary): string | null {
  if (service === null || service.failedShare < LEAST_FAILED) return null;
  return formatPercent(service.failedShare);
}

/** What makes figures less than they could be. */
export function warnings({ runs, cores, vary }: BenchResult): string[] {
  const others = Math.max(...runs.flatMap(({ stages }) => stages.map(({ otherCores }) => otherCores)));
  return [
    ...runs.flatMap(({ value, stages }) =>
      stages.flatMap(({ stage, service }) => {
        if (service === null || !generatorLimits(service)) return [];
        const at = vary === null ? '' : ` at ${keyLabel(vary.key)} ${value}`;
        const busy = `${shareText(service.generator.busy)} busy, the server's ${shareText(service.server.busy)}`;
        return [`${STAGE_TITLES[stage]}${at} is a lower bound: the clients could not send more (${busy})`];
      }),
    ),
    ...(others > TOLERATED_OTHERS * cores
      ? [
          `other programs used up to ${others.toFixed(1)} of ${cores} cores meanwhile: the figures are too low, and differences may be due to those programs`,
        ]
      : []),
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
