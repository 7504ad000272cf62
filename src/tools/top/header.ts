import type { ClusterStatus } from '../../live/observe/status/cluster-status.js';
import { widthOf } from './cells.js';
import { attainment, count, elapsed, percent, rate } from './figures.js';
import { fillLine, type Line, type Style, span, spread } from './line.js';
import { type Bar, bars } from './meter.js';
import type { StatusFeed } from './status-feed.js';
import type { ViewState } from './view-state.js';

/** Who is watched, and whether it is well: always the first line. */
export function titleLine({ url, status, problem }: StatusFeed, view: ViewState, columns: number): Line {
  const left: Line = [
    span('escapement ', 'bold'),
    span(`on ${status.host}, policy ${status.policy}`),
    span(`, ${url}, up ${elapsed(status.upSeconds)}`, 'dim'),
  ];
  return spread(left, [span(' '), ...stateOf(status, problem, view)], columns);
}

function stateOf({ ready }: ClusterStatus, problem: string, { paused }: ViewState): Line {
  return [
    ...(paused ? [span(' paused ', 'sorted'), span(' ')] : []),
    problem !== '' ? span(` ${problem} `, 'alarm') : ready ? span('ready', 'good') : span('not ready', 'bad'),
  ];
}

/** Rates now; two lines where one is too short. */
export function rateLines({ requests }: ClusterStatus, columns: number): Line[] {
  const { offeredRps, goodputRps, failedRps, unanswered } = requests;
  const attained = attainment(requests);
  return packed(
    [
      field('in', `${rate(offeredRps)}/s`, 10),
      field('goodput', `${rate(goodputRps)}/s`, 15, 'good'),
      field('failed', `${rate(failedRps)}/s`, 14, failedRps > 0 ? 'bad' : 'bold'),
      field('in time', attained === null ? '–' : `${percent(attained)} %`, 14, styleOf(attained)),
      field('unanswered', count(unanswered), 16),
    ],
    columns,
  );
}

/** Answers since the start by outcome. */
export function totalLines({ requests }: ClusterStatus, columns: number): Line[] {
  const outcomes = Object.entries(requests.totals).map(([outcome, total]) =>
    field(outcome, total.toLocaleString('en-US'), 0),
  );
  return packed([field('since the start', '', 0), ...outcomes], columns);
}

const MINUTE_LABEL = 'goodput ';

/** Goodput of each second of the last minute, the highest bar being the most that arrived in a second. */
export function minuteLines({ requests }: ClusterStatus, columns: number, height: number): Line[] {
  const { offeredRps: arrived, goodputRps: good, failedRps: failed } = requests.lastMinute;
  const most = Math.max(1, ...arrived, ...good);
  const scale = ` ${rate(most)}/s`;
  const room = Math.max(0, columns - MINUTE_LABEL.length - scale.length);
  const values = good
    .map((inTime, second): Bar => {
      const answered = inTime + failed[second];
      return { share: inTime / most, style: styleOf(answered === 0 ? null : inTime / answered) };
    })
    .slice(-room);
  return bars(values, height).map((cells, line) => {
    const isTop = line === 0;
    const label = span(isTop ? MINUTE_LABEL : ' '.repeat(MINUTE_LABEL.length), 'label');
    return [label, ...cells, ...(isTop ? [span(scale, 'dim')] : [])];
  });
}

function styleOf(attained: number | null): Style {
  if (attained === null) return 'bold';
  return attained >= 0.99 ? 'good' : attained >= 0.9 ? 'warn' : 'bad';
}

/** `label value`, at least `width` cells, so that what follows does not jump. */
function field(label: string, value: string, width: number, style: Style = 'bold'): Line {
  const line = [span(`${label} `, 'label'), span(value, style)];
  return fillLine(line, Math.max(width, widthOf(`${label} ${value}`)));
}

/** Lines of as many fields as fit. */
function packed(fields: readonly Line[], columns: number): Line[] {
  const lines: Line[] = [];
  for (const each of fields) {
    const longer: Line = lines.length === 0 ? each : [...lines[lines.length - 1], span('  '), ...each];
    const width = longer.reduce((sum, { text }) => sum + widthOf(text), 0);
    if (lines.length > 0 && width <= columns) lines[lines.length - 1] = longer;
    else lines.push(each);
  }
  return lines;
}
