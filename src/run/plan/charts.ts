import type { Threshold } from '../../record/threshold.js';
import type { NamedChart } from '../../report/charts/chart-sets.js';
import { type PlanFigure, type PlanPoint, planFigure, touches } from '../../report/charts/plan-figure.js';
import { keyLabel, parseQuantity, valueLabel } from '../../report/quantity.js';
import { capital } from '../../text/words.js';
import { atLeast } from './judge.js';
import type { PlanResult, Tried } from './plan-result.js';
import { isLeast } from './preference.js';
import { confidenceTexts, estimateText, goalLabel, namedValue } from './words.js';

/** Values on each side of the answer that the close-up shows. */
const CLOSE = 3;

/** The charts of a plan: for each target all that was tried, and the neighbourhood of the answer where that is crowded. */
export function planCharts(plan: PlanResult): NamedChart[] {
  return plan.targets.flatMap((target, i) => {
    const whole = figureOf(plan, target, i, plan.tried);
    // Nothing was measured, or nothing could run.
    if (whole.points.length === 0) return [];
    const charts = [{ name: `plan-${i + 1}`, spec: planFigure(whole) }];
    if (!crowded(plan, whole)) return charts;
    const near = figureOf(plan, target, i, nearAnswer(plan));
    const title = `The same around ${namedValue(plan.over.key, plan.answer!)}`;
    return [...charts, { name: `plan-${i + 1}-close`, spec: planFigure({ ...near, title }) }];
  });
}

/** Whether the answer cannot be distinguished from the value before it. */
function crowded({ answer, before }: PlanResult, { points }: PlanFigure): boolean {
  if (answer === null || before === null || points.length <= 2 * CLOSE + 1) return false;
  return touches(points, axisNumber(answer).value, axisNumber(before).value);
}

function nearAnswer({ tried, answer }: PlanResult): readonly Tried[] {
  const at = tried.findIndex(({ value }) => value === answer);
  return tried.slice(Math.max(0, at - CLOSE), at + CLOSE + 1);
}

function figureOf(plan: PlanResult, target: Threshold, index: number, tried: readonly Tried[]): PlanFigure {
  const { over, outcome, answer, superlative, before } = plan;
  const label = keyLabel(over.key);
  const unit = axisNumber(over.to).unit;
  const figure = (value: string) => tried.find((one) => one.value === value)?.figures[index];
  const text = (value: string) => {
    const found = figure(value);
    return found === undefined ? 'cannot run' : estimateText(target, found);
  };
  const reached = (value: string) => `${namedValue(over.key, value)}: ${text(value)}`;
  const points = tried.flatMap((one) => pointOf(one, plan, target, index));
  return {
    title: `${target.metric} against ${label}`,
    subtitle: [
      answer === null
        ? plan.targets.length > 1
          ? 'No value that was tried meets every target'
          : 'No value that was tried meets the target'
        : outcome === 'whole' && !isLeast(over.key, answer)
          ? `The range does not bound the answer: ${reached(answer)}`
          : `${capital(goalLabel(over.key, superlative))} within the target: ${valueLabel(answer)} (${text(answer)})`,
      ...(before === null ? [] : [reached(before)]),
      ...(points.length < tried.length
        ? [
            `${tried.length - points.length} of ${tried.length} values are not drawn: ${target.unit === 'ms' ? 'never, or they cannot run' : 'they have no such figure, or cannot run'}`,
          ]
        : []),
      ...confidenceTexts(plan),
    ].join(' · '),
    xTitle: unit === '' ? label : `${label} (${unit})`,
    yTitle: target.unit === 'ms' ? `${target.metric} (ms)` : target.metric,
    unit: target.unit,
    limit: target.limit,
    limitLabel: `target: ${target.text}`,
    atLeast: atLeast(target),
    points,
    answer: answer === null ? null : { x: axisNumber(answer).value, label: namedValue(over.key, answer) },
  };
}

function pointOf({ value, figures }: Tried, plan: PlanResult, target: Threshold, index: number): PlanPoint[] {
  const figure = figures[index];
  if (figure === undefined || figure.estimate === null) return [];
  const { meets, estimate } = figure;
  const { mean, low, high } = estimate;
  const note = `${namedValue(plan.over.key, value)}: ${estimateText(target, figure)}`;
  return [{ x: axisNumber(value).value, mean, low, high, meets, note }];
}

/** A value as a number in the unit that axes use; of a unit that they do not know, as written. */
function axisNumber(text: string): { value: number; unit: string } {
  return parseQuantity(text) ?? { value: Number.parseFloat(text), unit: text.replace(/^[\d.]+\s*/, '') };
}
