import { CAUSE_LABELS, CAUSES } from '../../record/causes.js';
import { DIMENSIONS } from '../../record/dimensions.js';
import { formatCount, formatPercent } from '../../text/numbers.js';
import type { Breakdown, Part } from '../breakdown.js';
import { type ChartSpec, chart, INK, joined, LEGEND, MUTED, NAMES_AXIS } from './theme.js';

const WIDTH = 340;
const ROW = 40;
const BAR = 22;
/** Smallest share of a bar with room for its letter. */
const ROOM = 0.06;
const IN_TIME = 'in time';
/** Figures next to a bar. */
const SHOWN = ['in time/s', 'p99'];
/** Letters, since numbers would look like counts. */
const LETTERS = [...'ABCDEFGHIJKL'];

/**
 * Outcomes of the requests of each part of a breakdown, one bar per part: those in time, then each cause of failure, or
 * each outcome that a client sees. Causes differ in order, shade and letter, in bar and legend.
 */
export function outcomeBars({ dimension, parts }: Breakdown): ChartSpec {
  const counted = parts.map(failuresOf);
  const failures = Object.keys(counted[0] ?? {}).filter((name) =>
    counted.some((counts) => counts[name]! > 0),
  );
  const names = [IN_TIME, ...failures];
  const legend = [IN_TIME, ...failures.map((failure, i) => `${LETTERS[i]}: ${failure}`)];
  const shades = ['#ffffff', ...failures.map((_, rank) => shadeOf(rank, failures.length))];
  const rows = parts.flatMap((part, at) => {
    const { offered, ok } = part.requests;
    const counts = [ok, ...failures.map((failure) => counted[at]![failure]!)];
    let end = 0;
    return (offered === 0 ? [] : counts).map((count, i) => {
      const begin = end;
      end += count / offered;
      const isNamed = i > 0 && end - begin >= ROOM;
      const note = `${part.name}: ${formatCount(count)} of ${formatCount(offered)} ${names[i]}`;
      return {
        ...{ name: part.name, outcome: legend[i], order: i, begin, end, middle: (begin + end) / 2 },
        ...{ letter: isNamed ? LETTERS[i - 1] : '', note },
      };
    });
  });
  const labels = parts.map(({ name, attainment, figures }) => {
    const notes = SHOWN.flatMap((title) => (figures[title] ? `${title} ${figures[title].text}` : []));
    return attainment === null
      ? { name, label: 'none offered', note: '' }
      : { name, label: formatPercent(attainment), note: joined(...notes) };
  });
  const order = parts.map(({ name }) => name);
  const y = { field: 'name', type: 'nominal', sort: order, title: null, axis: NAMES_AXIS };
  const x = {
    type: 'quantitative',
    title: 'share of the offered requests',
    scale: { domain: [0, 1], nice: false },
    axis: { format: '.0%', tickCount: 5 },
  };
  const color = {
    field: 'outcome',
    type: 'nominal',
    sort: null,
    scale: { domain: legend, range: shades },
    legend: { ...LEGEND, symbolType: 'square', symbolStrokeColor: INK, symbolStrokeWidth: 1, columns: 4 },
  };
  const dark = `datum.order > ${(failures.length + 1) / 2}`;
  const letterColor = { condition: { test: dark, value: '#ffffff' }, value: INK };
  const text = { type: 'text', align: 'left', x: { expr: 'width + 12' } };
  const label = { data: { values: labels } };
  const title = `Attainment by ${DIMENSIONS[dimension].label}`;
  const shown = rows.filter(({ begin, end }) => end > begin).map(({ note }) => note);
  return chart(
    { title, subtitle: worstOf(parts), width: WIDTH + 320, fluid: true },
    {
      description: `${title}. ${shown.join('. ')}.`,
      width: WIDTH,
      height: { step: ROW },
      data: { values: rows },
      layer: [
        {
          mark: { type: 'bar', height: BAR, stroke: INK, strokeWidth: 1 },
          encoding: {
            ...{ y, x: { ...x, field: 'begin' }, x2: { field: 'end' } },
            ...{ color, order: { field: 'order' }, tooltip: { field: 'note' } },
          },
        },
        {
          mark: { type: 'text', fontSize: 11, fontWeight: 600 },
          encoding: { y, x: { ...x, field: 'middle' }, text: { field: 'letter' }, color: letterColor },
        },
        { ...label, mark: { ...text, dy: -8, fontWeight: 600 }, encoding: { y, text: { field: 'label' } } },
        {
          ...label,
          mark: { ...text, dy: 8, fontSize: 11.5, color: MUTED },
          encoding: { y, text: { field: 'note' } },
        },
      ],
    },
  );
}

/** Failed requests by cause, or by outcome if a client measured them. */
function failuresOf({
  failures,
  requests: { offered: _, ok: __, ...outcomes },
}: Part): Record<string, number> {
  if (failures === undefined) return outcomes;
  return Object.fromEntries(CAUSES.map((cause) => [CAUSE_LABELS[cause], failures[cause]]));
}

function worstOf(parts: readonly Part[]): string {
  const [worst] = parts
    .filter(({ attainment }) => attainment !== null)
    .sort((a, b) => a.attainment! - b.attainment!);
  return worst === undefined
    ? 'No request was offered'
    : `Worst: ${worst.name}, ${formatPercent(worst.attainment)}`;
}

/** From light to dark in the order of the causes. */
function shadeOf(rank: number, count: number): string {
  const depth = count === 1 ? 0.5 : rank / (count - 1);
  return `hsl(213, ${Math.round(30 + 55 * depth)}%, ${Math.round(84 - 58 * depth)}%)`;
}
