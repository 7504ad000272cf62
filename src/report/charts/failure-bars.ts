import { CAUSE_LABELS, CAUSES } from '../../record/causes.js';
import type { ModelFigures } from '../../record/results.js';
import { formatCount, formatPercent } from '../../text/numbers.js';
import { causesText } from '../hurt-text.js';
import { type ChartSpec, chart, INK, MUTED, NAMES_AXIS } from './theme.js';

const WIDTH = 360;
const ROW = 30;
const BAR = 18;
/** Narrower shares of a bar have no room for their letter. */
const ROOM = 0.06;
const IN_TIME = 'in time';
/** Letters, since numbers would look like counts. */
const LETTERS = CAUSES.map((_, i) => String.fromCharCode('A'.charCodeAt(0) + i));

/**
 * Outcomes of the requests of the worst-served models: one bar each, from those in time to each cause of failure.
 * Causes differ in order, shade and letter, in the bar and in the legend.
 */
export function failureBars(models: readonly ModelFigures[]): ChartSpec {
  const present = CAUSES.filter((cause) => models.some(({ failures }) => (failures?.[cause] ?? 0) > 0));
  const parts = [IN_TIME, ...present.map((cause, i) => `${LETTERS[i]}: ${CAUSE_LABELS[cause]}`)];
  const rows = models.flatMap((model) => {
    const counts = [model.requests.ok, ...present.map((cause) => model.failures?.[cause] ?? 0)];
    let from = 0;
    return counts.map((count, part) => {
      const begin = from;
      from += count / model.requests.offered;
      return {
        name: model.key,
        part: parts[part],
        order: part,
        begin,
        end: from,
        middle: (begin + from) / 2,
        letter: part > 0 && from - begin >= ROOM ? LETTERS[part - 1] : '',
        note: `${model.key}: ${formatCount(count)} of ${formatCount(model.requests.offered)} ${part === 0 ? IN_TIME : CAUSE_LABELS[present[part - 1]!]}`,
      };
    });
  });
  const totals = models.map((model) => ({
    name: model.key,
    label: `${formatPercent(model.attainment)} of ${formatCount(model.requests.offered)} in time`,
  }));
  const y = {
    field: 'name',
    type: 'nominal',
    sort: models.map(({ key }) => key),
    title: null,
    axis: NAMES_AXIS,
  };
  const x = {
    type: 'quantitative',
    title: 'share of the requests for the model',
    scale: { domain: [0, 1], nice: false },
    axis: { format: '.0%', tickCount: 5 },
  };
  const shades = parts.map((_, part) => (part === 0 ? '#ffffff' : shadeOf(part - 1, present.length)));
  const color = {
    field: 'part',
    type: 'nominal',
    sort: null,
    scale: { domain: parts, range: shades },
    legend: {
      title: null,
      orient: 'top',
      symbolType: 'square',
      symbolSize: 160,
      symbolStrokeColor: INK,
      symbolStrokeWidth: 1,
      columns: 4,
      labelLimit: 200,
      offset: 10,
    },
  };
  const total = models.reduce((sum, { requests }) => sum + requests.offered, 0);
  const failed = total - models.reduce((sum, { requests }) => sum + requests.ok, 0);
  return chart(
    {
      title: 'Why requests failed, by model',
      subtitle: `The ${models.length === 1 ? 'model' : `${models.length} models`} with the smallest share in time: ${formatCount(failed)} of ${formatCount(total)} requests failed`,
      width: WIDTH + 340,
    },
    {
      description: `Stacked bars, one a model. ${models.map(descriptionOf).join('. ')}.`,
      width: WIDTH,
      height: { step: ROW },
      data: { values: rows },
      layer: [
        {
          mark: { type: 'bar', height: BAR, stroke: INK, strokeWidth: 1 },
          encoding: {
            y,
            x: { ...x, field: 'begin' },
            x2: { field: 'end' },
            color,
            order: { field: 'order' },
            tooltip: { field: 'note' },
          },
        },
        {
          mark: { type: 'text', fontSize: 11, fontWeight: 600 },
          encoding: {
            y,
            x: { ...x, field: 'middle' },
            text: { field: 'letter' },
            color: {
              condition: { test: `datum.order > ${(present.length + 1) / 2}`, value: '#ffffff' },
              value: INK,
            },
          },
        },
        {
          data: { values: totals },
          mark: { type: 'text', align: 'left', x: WIDTH + 12, fontSize: 11.5, color: MUTED },
          encoding: { y, text: { field: 'label' } },
        },
      ],
    },
  );
}

function descriptionOf({ key, requests: { offered, ok }, failures }: ModelFigures): string {
  const causes = failures === undefined ? '' : `, ${causesText(failures)}`;
  return `${key}: ${formatCount(ok)} of ${formatCount(offered)} in time${causes}`;
}

/** From light to dark in the order of the causes. */
function shadeOf(rank: number, count: number): string {
  const depth = count === 1 ? 0.5 : rank / (count - 1);
  return `hsl(213, ${Math.round(30 + 55 * depth)}%, ${Math.round(84 - 58 * depth)}%)`;
}
