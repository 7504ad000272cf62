import type { NamedChart } from '../../report/charts/chart-sets.js';
import { type PlanPoint, planFigure } from '../../report/charts/plan-figure.js';
import type { FleetPlan, TriedFleet } from './fleet-result.js';
import { costText } from './fleet-text.js';
import { atLeast } from './judge.js';
import { confidenceTexts, estimateText } from './words.js';

/** For each target what every fleet that was run reached for its price, and the best for each price as steps. */
export function fleetCharts(plan: FleetPlan): NamedChart[] {
  const { targets, tried, answer } = plan;
  const chosen = tried.find(({ value }) => value === answer);
  return targets.flatMap((target, i) => {
    const points = tried.flatMap((one) => pointOf(one, i, plan));
    if (points.length === 0) return [];
    const better = atLeast(target);
    const spec = planFigure({
      title: `${target.metric} against cost`,
      subtitle: [
        chosen === undefined
          ? 'No fleet that was run meets the target'
          : `Cheapest within the target: ${chosen.value}`,
        'steps: the best for each price',
        ...confidenceTexts(plan),
      ].join(' · '),
      xTitle: 'price of the fleet per hour',
      yTitle: target.unit === 'ms' ? `${target.metric} (ms)` : target.metric,
      unit: target.unit,
      limit: target.limit,
      limitLabel: `target: ${target.text}`,
      atLeast: better,
      points,
      answer: chosen === undefined ? null : { x: chosen.costPerHour, label: chosen.value },
      frontier: frontierOf(points, better),
    });
    return [{ name: `fleets-${i + 1}`, spec }];
  });
}

/** The points that no cheaper one is as good as. */
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

function pointOf(one: TriedFleet, index: number, { targets }: FleetPlan): PlanPoint[] {
  const figure = one.figures[index];
  if (figure === undefined || figure.estimate === null) return [];
  const { mean, low, high } = figure.estimate;
  const note = `${one.value}, ${costText(one)} per hour: ${estimateText(targets[index]!, figure)}`;
  return [{ x: one.costPerHour, mean, low, high, meets: figure.meets, note }];
}
