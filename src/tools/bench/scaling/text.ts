import { formatBytes } from '../../../config/units-text.js';
import { formatCount, formatSlo } from '../../../text/numbers.js';
import { alignColumns } from '../../../text/table.js';
import { plural } from '../../../text/words.js';
import { wrap } from '../../../text/wrap.js';
import { rateText, shareText } from '../figures.js';
import type { ScalingPoint } from './point.js';
import type { ScalingResult, ScalingRun } from './result.js';

/** A scaling benchmark for the terminal: texts in lines of at most `columns`. */
export function scalingText(result: ScalingResult, columns: number): string {
  const about = aboutLines(result).flatMap((line) => wrap(line, columns));
  const runs = result.runs.flatMap((run) => ['', ...runLines(run, result, columns)]);
  return [...about, ...runs, '', ...wrap(LEGEND, columns)].map((line) => `${line}\n`).join('');
}

/** What was measured, and how. */
export function aboutLines({ name, device, cores, inputBytes, trials }: ScalingResult): string[] {
  const place = `controller and clients in one process of a machine with ${plural(cores, 'core')}`;
  return [
    `${name} on ${device.text}; ${place}`,
    `${inputBytes === 0 ? 'no tensors' : `${formatBytes(Math.round(inputBytes))} a request`}; warm-up, then ${plural(trials, 'trial')}`,
  ];
}

/** The work of one mode in words. */
export function workText({ mode, points }: ScalingRun): string {
  const [{ requests, models, clients, sloMs, gpus }] = points;
  const each = gpus === 1 ? 'for each GPU' : `for each ${gpus} GPUs`;
  const work = `${formatCount(requests)} requests of ${plural(models, 'model')} from ${formatCount(clients)} clients`;
  return `${mode} scaling: ${work} ${mode === 'strong' ? 'in all' : each}, SLO ${formatSlo(Math.round(sloMs))}`;
}

/** `98 % ± 1`. */
export function efficiencyText({ efficiency: { mean, sd } }: ScalingPoint): string {
  return sd === 0 ? shareText(mean) : `${shareText(mean)} ± ${(100 * sd).toFixed(sd < 0.0095 ? 1 : 0)}`;
}

/** `8.03 ± 0.02`: seconds of a trial. */
export function tookText({ tookS: { mean, sd, n } }: ScalingPoint): string {
  const digits = mean >= 100 ? 1 : mean >= 10 ? 2 : 3;
  return n < 2 ? mean.toFixed(digits) : `${mean.toFixed(digits)} ± ${sd.toFixed(digits)}`;
}

export function speedUpText({ speedUp: { mean } }: ScalingPoint): string {
  return mean.toFixed(mean >= 10 ? 1 : 2);
}

export const LEGEND =
  'efficiency: requests/s per GPU, relative to the fewest GPUs; ±: standard deviation; EXEC: how busy the GPUs are on average / the least busy one; thread: how busy the thread of controller and clients is / with scheduling steps';

function runLines(run: ScalingRun, result: ScalingResult, columns: number): string[] {
  const { verdict } = run;
  return [
    ...wrap(workText(run), columns),
    '',
    ...alignColumns([HEADER, ...run.points.map(row)], []),
    '',
    ...wrap(`${verdict.title}.`, columns),
    ...(verdict.reason === '' ? [] : wrap(verdict.reason, columns)),
    ...warnings(run, result).flatMap((text) => wrap(`note: ${text}`, columns)),
  ];
}

const HEADER = ['GPUs', 's', 'requests/s', 'speed-up', 'efficiency', 'EXEC', 'batch', 'thread'];

function row(point: ScalingPoint): string[] {
  const { gpus, throughputRps, activity } = point;
  const { execMean, execMin, meanBatch, loopBusy, stepShare } = activity;
  return [
    String(gpus),
    tookText(point),
    rateText(throughputRps),
    speedUpText(point),
    efficiencyText(point),
    pair(execMean, execMin),
    meanBatch.toFixed(1),
    pair(loopBusy, stepShare),
  ];
}

/** `97/95 %`. */
function pair(one: number, other: number): string {
  return `${Math.round(100 * one)}/${Math.round(100 * other)} %`;
}

/** More of the requests than this is worth a word. */
const FEW = 0.001;
/** A base whose GPUs are busy for less of the time loses something itself. */
const BUSY = 0.9;
/** LOADs of a trial and GPU that are worth a word. */
const FEW_LOADS = 1;

/** What a reader must know to read the figures right. */
export function warnings({ points }: ScalingRun, { device, cores }: ScalingResult): string[] {
  const failed = points.filter(({ activity }) => activity.failedShare > FEW);
  const loading = points.filter(({ gpus, activity }) => activity.loads > FEW_LOADS * gpus);
  const most = points[points.length - 1].gpus;
  const { gpus: fewest, activity: base } = points[0];
  return [
    ...(base.execMean < BUSY
      ? [
          `${fewest === 1 ? 'the base keeps its GPU' : `the base keeps its ${fewest} GPUs`} busy for only ${shareText(base.execMean)}: with a base without losses, efficiency would be lower`,
        ]
      : []),
    ...(device.kind === 'cpu' && most > 1
      ? [`these are ${most} GPUs in name only: they share the ${cores} cores of this machine`]
      : []),
    ...(failed.length > 0
      ? [
          `requests without a result were sent again: ${failed.map(({ gpus, activity }) => `${(100 * activity.failedShare).toFixed(1)} % with ${gpus}`).join(', ')}`,
        ]
      : []),
    ...(loading.length > 0
      ? [
          `LOADs in a trial: ${loading.map(({ gpus, activity }) => `${formatCount(activity.loads)} with ${gpus}`).join(', ')}`,
        ]
      : []),
  ];
}
