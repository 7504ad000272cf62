import { formatPercent } from '../../text/numbers.js';
import type { Breakdown } from '../breakdown.js';
import { type ChartSpec, chart, INK, MUTED, NAMES_AXIS, STRONG } from './theme.js';

const WIDTH = 330;
const ROW = 40;
/** Figures next to a bar. */
const SHOWN = ['in time/s', 'p99'];

/** Share of requests answered in time, a bar for each part of a breakdown. */
export function breakdownBars({ dimension, parts }: Breakdown): ChartSpec {
  const known = parts.filter(({ attainment }) => attainment !== null);
  const rows = parts.map(({ name, attainment, figures }) => {
    const notes = SHOWN.flatMap((title) =>
      figures[title] === undefined ? [] : `${title} ${figures[title].text}`,
    );
    return attainment === null
      ? { name, label: 'none offered', note: '' }
      : { name, share: attainment, label: formatPercent(attainment), note: notes.join(' · ') };
  });
  const worst = known.reduce((a, b) => (b.attainment! < a.attainment! ? b : a), known[0]!);
  const subtitle =
    worst === undefined
      ? 'No request was offered'
      : worst.attainment === 1
        ? 'Every request was answered within its SLO'
        : `Worst: ${worst.name}, ${formatPercent(worst.attainment)}`;
  const offered = { data: { values: rows.filter(({ share }) => share !== undefined) } };
  const y = {
    field: 'name',
    type: 'nominal',
    sort: rows.map(({ name }) => name),
    title: null,
    axis: NAMES_AXIS,
  };
  const x = {
    field: 'share',
    type: 'quantitative',
    title: 'answered in time',
    scale: { domain: [0, 1], nice: false },
    axis: { format: '.0%', tickCount: 5 },
  };
  const label = { type: 'text', align: 'left', x: WIDTH + 12 };
  return chart(
    { title: `Share answered in time, by ${dimension}`, subtitle, width: WIDTH + 320 },
    {
      width: WIDTH,
      height: { step: ROW },
      data: { values: rows },
      layer: [
        // The whole of each part, so that what is missing shows.
        {
          ...offered,
          mark: { type: 'bar', height: 22, fill: '#ffffff', stroke: INK, strokeWidth: 1 },
          encoding: { y, x: { datum: 1, type: 'quantitative' } },
        },
        { ...offered, mark: { type: 'bar', height: 22, color: STRONG }, encoding: { y, x } },
        { mark: { ...label, dy: -8, fontWeight: 600 }, encoding: { y, text: { field: 'label' } } },
        { mark: { ...label, dy: 8, fontSize: 11.5, color: MUTED }, encoding: { y, text: { field: 'note' } } },
      ],
    },
  );
}
