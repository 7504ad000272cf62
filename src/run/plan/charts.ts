import type { NamedChart } from '../../report/charts/chart-sets.js';
import { type PlanFigure, type PlanPoint, planFigure } from '../../report/charts/plan-figure.js';
import { joined } from '../../report/charts/theme.js';
import { documentPage } from '../../report/html/document-page.js';
import { drawCharts } from '../../report/html/page.js';
import { keyLabel, parseQuantity } from '../../report/quantity.js';
import { atLeast } from './judge.js';
import { isFleetPlan, type Plan } from './plan-result.js';
import { planDocument } from './text.js';
import { estimateText, intervalsOf } from './words.js';

/** Charts of a plan: for each target all tried values; fleets by price, with the best for each price as steps. */
export function planCharts(plan: Plan): NamedChart[] {
  return plan.targets.flatMap((_, i) => {
    const figure = figureOf(plan, i);
    // Nothing was measured, or nothing could run.
    return figure.points.length === 0 ? [] : [{ name: `plan-${i + 1}`, spec: planFigure(figure) }];
  });
}

function figureOf(plan: Plan, index: number): PlanFigure {
  const { tried, headline } = plan;
  const answer = tried.findIndex(({ value }) => value === plan.answer);
  const target = plan.targets[index]!;
  const places = placesOf(plan);
  const points = tried.flatMap(({ name, figures }, i): PlanPoint[] => {
    const figure = figures[index];
    if (figure === undefined || figure.estimate === null) return [];
    const { mean, low, high } = figure.estimate;
    const note = `${name}: ${estimateText(target, figure)}`;
    return [{ x: places[i]!, mean, low, high, meets: figure.meets, note }];
  });
  const better = atLeast(target);
  const interval = intervalsOf(plan);
  return {
    ...axisOf(plan, target.metric),
    subtitle: joined(
      headline,
      points.length < tried.length
        ? `${tried.length - points.length} of ${tried.length} have no figure to draw`
        : '',
      isFleetPlan(plan) ? 'steps: the best for each price' : '',
      interval === null ? '' : `bars: ${interval}`,
    ),
    yTitle: target.unit === 'ms' ? `${target.metric} (ms)` : target.metric,
    unit: target.unit,
    limit: target.limit,
    limitLabel: `target: ${target.text}`,
    atLeast: better,
    points,
    answer: answer < 0 ? null : { x: places[answer]!, label: tried[answer]!.name },
    ...(isFleetPlan(plan) ? { frontier: frontierOf(points, better) } : {}),
  };
}

function axisOf(plan: Plan, metric: string): Pick<PlanFigure, 'title' | 'xTitle'> {
  if (isFleetPlan(plan)) return { title: `${metric} against cost`, xTitle: 'price of the fleet per hour' };
  const label = keyLabel(plan.over.key);
  const { unit } = axisNumber(plan.over.to);
  return { title: `${metric} against ${label}`, xTitle: unit === '' ? label : `${label} (${unit})` };
}

/** Position of each tried value on the axis. */
function placesOf(plan: Plan): number[] {
  if (isFleetPlan(plan)) return plan.tried.map(({ costPerHour }) => costPerHour);
  return plan.tried.map(({ value }) => axisNumber(value).value);
}

/** Points that no cheaper one matches or beats. */
function frontierOf(points: readonly PlanPoint[], isMoreBetter: boolean): PlanPoint[] {
  const frontier: PlanPoint[] = [];
  for (const point of points) {
    const best = frontier.at(-1);
    const isBetter = best === undefined || (isMoreBetter ? point.mean > best.mean : point.mean < best.mean);
    if (!isBetter) continue;
    if (best !== undefined && best.x === point.x) frontier.pop();
    frontier.push(point);
  }
  return frontier;
}

/** A value as a number in the unit of the axis; as written if the unit is unknown. */
function axisNumber(text: string): { value: number; unit: string } {
  return parseQuantity(text) ?? { value: Number.parseFloat(text), unit: text.replace(/^[\d.]+\s*/, '') };
}

/** A plan as one HTML document. */
export async function planPage(plan: Plan): Promise<string> {
  return documentPage(planDocument(plan), await drawCharts(planCharts(plan)));
}
