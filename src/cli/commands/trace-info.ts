import { NS_PER_S } from '../../base/units.js';
import { rounded, significant } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { writeErr } from '../../text/terminal.js';
import { distantStart } from '../../workload/arrivals-source.js';
import { type TraceInfo, traceInfo } from '../../workload/trace-info.js';
import { json, print } from '../common-options.js';
import { group, required, text, type ValuesOf } from '../options.js';

export const flags = {
  path: required(text('Trace of a known layout (.csv or .csv.gz)')),
  ...group('Options', { json }),
};
export const examples = ['trace info trace.csv.gz'];

/** `escapement trace info PATH`: figures of a trace that determine how hard it is to serve. */
export async function handler({ path, json }: ValuesOf<typeof flags>): Promise<void> {
  const info = await traceInfo(path);
  print({ json }, info, () => infoText(path, info));
  const distant = info.kind === 'arrivals' ? distantStart(info.firstNs ?? 0, info.lastNs ?? 0) : null;
  if (distant !== null) writeErr(`warning: ${distant}\n`);
}

function infoText(path: string, info: TraceInfo): string {
  const functions = info.kind === 'arrivals' ? 'models' : 'functions';
  const firstMinute = info.firstMinute === null ? '' : `; the first is called ${info.firstMinute}`;
  return table([
    ['trace', path],
    ['kind', info.kind],
    [functions, String(info.functions)],
    ['minutes', `${info.minutes}${firstMinute}`],
    ['invocations', String(info.invocations)],
    ['first, last arrival', `${seconds(info.firstNs)}, ${seconds(info.lastNs)}`],
    ['mean rate', rate(info.meanRps)],
    [
      'busiest minute',
      shown(info.peakToMean, (ratio) => `${rate(info.peakRps)} (${figureText(ratio)} × the mean minute)`),
    ],
    ['variance / mean of minutes', figure(info.dispersion)],
    [`${functions} active in a mean minute`, figure(info.activePerMinute)],
    [`share of top 10 ${functions}`, percent(info.top10Share)],
    [`share of top 1 % of ${functions}`, percent(info.topPercentShare)],
    [`minute CV of ${functions}, p50, p90`, `${figure(info.cvP50)}, ${figure(info.cvP90)}`],
    [`${functions} below 1/min, 1/h`, `${percent(info.belowOnePerMinute)}, ${percent(info.belowOnePerHour)}`],
  ]);
}

/** Text of a figure, or a dash for one that the trace does not have. */
function shown(value: number | null, text: (value: number) => string): string {
  return value === null ? '–' : text(value);
}

const figureText = (value: number) => String(significant(value, 4));
const figure = (value: number | null) => shown(value, figureText);
const seconds = (ns: number | null) => shown(ns, (value) => `${rounded(value / NS_PER_S, 3)} s`);
const percent = (share: number | null) => shown(share, (value) => `${rounded(value * 100, 1)} %`);
const rate = (rps: number | null) => shown(rps, (value) => `${figureText(value)}/s`);
