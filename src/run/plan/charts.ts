import type { NamedChart } from '../../report/charts/chart-sets.js';
import { linesPanel } from '../../report/charts/lines.js';
import { ALERT, chart, INK, joined, STRONG, WEAK } from '../../report/charts/theme.js';
import { documentPage, drawCharts } from '../../report/html/page.js';
import { keyLabel, parseQuantity } from '../../report/quantity.js';
import { certaintyText } from '../../report/statistics.js';
import { planDocument } from './document.js';
import { atLeast, estimateText } from './judge.js';
import type { Plan } from './plan-result.js';

const SIZE = { width: 560, height: 300 };
/** Values of the key that span more than this factor get a logarithmic axis, since steps are often relative. */
const LOG_FACTOR_X = 10;
/** Figures that span more than this factor get a logarithmic axis if less is better. */
const LOG_FACTOR_Y = 20;

/** Name and style of each verdict. */
const VERDICTS = {
  yes: { name: 'meets', color: STRONG, dash: [1, 0], shape: 'circle' },
  unsure: { name: 'meets only on average', color: '#8a6100', dash: [1, 0], shape: 'diamond' },
  no: { name: 'misses', color: ALERT, dash: [1, 0], shape: 'cross' },
} as const;

/** A chart per target: its figure at all tried values, or fleets by price, with a rule at the target and one at the answer. */
export function planCharts(plan: Plan): NamedChart[] {
  return plan.targets.flatMap((_, i) => {
    const spec = planChart(plan, i);
    return spec === null ? [] : [{ name: `plan-${i + 1}`, spec }];
  });
}

/** Null: nothing was measured, or nothing could run. */
function planChart(plan: Plan, index: number) {
  const { minimize, over, tried, seeds } = plan;
  const target = plan.targets[index]!;
  const measured = tried.flatMap((one) => {
    const figure = one.figures[index];
    if (figure === undefined || figure.estimate === null) return [];
    const at = minimize === null ? axisNumber(one.value).value : one.costPerHour!;
    return { one, at, figure, estimate: figure.estimate };
  });
  if (measured.length === 0) return null;
  const { place, y, note } = scaleOf(plan, index);
  const shown = Object.values(VERDICTS).filter(({ name }) =>
    measured.some(({ figure }) => VERDICTS[figure.meets].name === name),
  );
  const answer = measured.find(({ one }) => one.value === plan.answer);
  const isMore = atLeast(target);
  const side = isMore ? { baseline: 'bottom', dy: -4 } : { baseline: 'top', dy: 5 };
  const label = minimize === null ? keyLabel(over[0]!.key) : 'price of the fleet per hour';
  const unit = minimize === null ? axisNumber(over[0]!.to).unit : '';
  const { spec } = linesPanel({
    ...{ ...SIZE, y, joins: false },
    x: { label, title: unit === '' ? label : `${label} (${unit})`, names: [], logFactor: LOG_FACTOR_X },
    series: { names: shown.map(({ name }) => name), styles: shown.map((one) => ({ ...one, dash: [1, 0] })) },
    points: measured.map(({ one, at, figure, estimate: { mean, low, high } }) => ({
      ...{ at, name: one.name, series: VERDICTS[figure.meets].name },
      figure: { mean: place(mean), low: place(low), high: place(high) },
      note: `${one.name}: ${estimateText(target, figure)}`,
    })),
    rules: [
      {
        ...{ at: { y: place(target.limit) }, text: `target: ${target.text}` },
        rule: { strokeDash: [5, 3], color: INK, strokeWidth: 1.4 },
        label: { align: 'left', x: 4, ...side },
      },
      ...(answer === undefined
        ? []
        : [
            {
              ...{ at: { x: answer.at }, text: answer.one.name },
              rule: { color: WEAK, strokeWidth: 8, opacity: 0.45 },
              label: { baseline: 'bottom', y: -4, color: STRONG },
            },
          ]),
    ],
  });
  const left = tried.length - measured.length;
  const subtitle = joined(
    plan.headline,
    left === 0 ? '' : `${left} of ${tried.length} have no figure to draw`,
    certaintyText(
      seeds.length,
      measured.map(({ estimate }) => estimate),
    ),
    note,
  );
  const title = `${target.metric} against ${minimize === null ? label : 'cost'}`;
  return chart({ title, subtitle, width: SIZE.width + 60, fluid: true }, spec);
}

/** Scale and axis of a target's figure, where it draws a value, and a note on an axis that is not linear. */
function scaleOf({ tried, targets }: Plan, index: number) {
  const { unit, limit, metric, ...target } = targets[index]!;
  const figures = tried.flatMap(({ figures: all }) => all[index]?.estimate ?? []);
  const positive = [limit, ...figures.flatMap(({ low, mean, high }) => [low, mean, high])].filter(
    (value) => value > 0,
  );
  const labels =
    unit === 'share' ? { labelExpr: "format(100 * datum.value, '.6~f') + ' %'" } : { format: ',~f' };
  const title = unit === 'ms' ? `${metric} (ms)` : metric;
  const axis = { grid: true, tickCount: 6, ...labels };
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  if (atLeast(target) || positive.length === 0 || most / least <= LOG_FACTOR_Y)
    // Shares near 1 differ too little to begin at 0.
    return {
      place: (value: number) => value,
      y: { title, scale: { zero: unit !== 'share' }, axis },
      note: '',
    };
  // Values below a millionth of the largest are merged with 0.
  const floor = Math.max(least, most / 1e6);
  const scale = { type: 'log', domain: [floor / 1.2, most * 1.2], nice: false };
  const place = (value: number) => Math.max(value, floor);
  return { place, y: { title, scale, axis }, note: 'the axis is logarithmic' };
}

/** A value as a number in the unit of the axis; as written if the unit is unknown. */
function axisNumber(text: string): { value: number; unit: string } {
  return parseQuantity(text) ?? { value: Number.parseFloat(text), unit: text.replace(/^[\d.]+\s*/, '') };
}

/** A plan as one HTML document. */
export async function planPage(plan: Plan): Promise<string> {
  return documentPage(planDocument(plan), await drawCharts(planCharts(plan)));
}
