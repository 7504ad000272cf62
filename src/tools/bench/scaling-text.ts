import { formatBytes } from '../../config/units-text.js';
import { formatCount, formatFactor, formatSlo } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { plural } from '../../text/words.js';
import { wrap } from '../../text/wrap.js';
import { rateText, shareText } from './figures.js';
import type { ScalingPoint, ScalingResult, ScalingRun } from './scaling-result.js';

const LEGEND =
  'efficiency: requests/s per GPU, relative to the fewest GPUs, ± standard deviation; it is about busy × batches × device: how busy the GPUs are, how well batches use them by the profile, how fast INFERs are compared with it. EXEC: how busy the GPUs are on average / the least busy one; thread: how busy the thread of controller and clients is / with scheduling steps';

/** A scaling benchmark for the terminal: texts in lines of at most `columns`. */
export function scalingText(result: ScalingResult, columns: number): string {
  const { name, device, cores, inputBytes, trials, seconds, runs } = result;
  const about = [
    `${name} on ${device.text}; controller and clients in one process of a machine with ${plural(cores, 'core')}`,
    `${inputBytes === 0 ? 'no tensors' : `${formatBytes(Math.round(inputBytes))} a request`}; warm-up, then ${plural(trials, 'trial')} of ${seconds} s`,
  ];
  const body = runs.flatMap((run) => ['', ...runLines(run, result, columns)]);
  const lines = [...about.flatMap((line) => wrap(line, columns)), ...body, '', ...wrap(LEGEND, columns)];
  return lines.map((line) => `${line}\n`).join('');
}

function runLines(run: ScalingRun, result: ScalingResult, columns: number): string[] {
  const { mode, points, verdict } = run;
  const [{ models, clients, sloMs, gpus }] = points;
  const each = mode === 'strong' ? 'in all' : gpus === 1 ? 'for each GPU' : `for each ${gpus} GPUs`;
  const work = `${mode} scaling: ${plural(models, 'model')} and ${formatCount(clients)} clients ${each}, SLO ${formatSlo(Math.round(sloMs))}`;
  return [
    ...wrap(work, columns),
    '',
    ...alignColumns([HEADER, ...points.map(row)], []),
    '',
    ...wrap(`${verdict.title}.`, columns),
    ...notes(run, result).flatMap((text) => wrap(`note: ${text}`, columns)),
  ];
}

const HEADER = ['GPUs', 'requests/s', 'efficiency', 'busy', 'batches', 'device', 'EXEC', 'batch', 'thread'];

function row({ gpus, throughputRps, efficiency, factors, activity }: ScalingPoint): string[] {
  const { mean, sd } = efficiency;
  const spread = sd === 0 ? '' : ` ± ${(100 * sd).toFixed(sd < 0.0095 ? 1 : 0)}`;
  return [
    String(gpus),
    rateText(throughputRps),
    `${shareText(mean)}${spread}`,
    ...[factors.busy, factors.batches, factors.device].map(formatFactor),
    pair(activity.execMean, activity.execMin),
    activity.meanBatch.toFixed(1),
    pair(activity.loopBusy, activity.stepShare),
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

/** What a reader must know to read the figures right. */
function notes({ points }: ScalingRun, { device, cores }: ScalingResult): string[] {
  const base = points[0].activity.execMean;
  const most = Math.max(...points.map(({ activity }) => activity.failedShare));
  return [
    ...(base < BUSY ? [`the base is busy for only ${shareText(base)}: it loses something itself`] : []),
    ...(device.kind === 'cpu' ? [`these GPUs share the ${cores} cores of this machine`] : []),
    ...(most > FEW ? [`up to ${shareText(most)} of the requests had no result`] : []),
  ];
}
