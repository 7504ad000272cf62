import type { Threshold } from '../../record/threshold.js';
import { priceText } from '../../report/cost-text.js';
import type { CellText, Column, Table } from '../../report/document.js';
import { keyLabel, valueLabel } from '../../report/quantity.js';
import { formatPercent, formatPercentCell } from '../../text/numbers.js';
import { ASIDE, type TargetFigure } from './judge.js';
import { isFleetPlan, type Plan, type Tried } from './plan-result.js';
import { estimateText } from './words.js';

interface PlanColumn extends Column {
  /** One per tried value. */
  readonly cells: readonly CellText[];
}

/** All tried values, a row each. */
export function triedTable(plan: Plan): Table {
  const { targets, tried } = plan;
  return tableOf([
    ...(isFleetPlan(plan)
      ? [
          namesOf('fleet', tried),
          costColumn('per hour', plan.tried, 'costPerHour'),
          ...(targets.some(({ metric }) => metric === 'costPerMillion')
            ? []
            : [costColumn('per million in time', tried, 'costPerMillion')]),
        ]
      : [keyColumn(keyLabel(plan.over.key), tried)]),
    ...targetColumns(targets, tried),
    ...(targets.some(({ metric }) => metric === 'attainment')
      ? []
      : [
          {
            ...{ title: 'in time', numeric: true },
            cells: tried.map(({ attainment }) => ({
              text: formatPercent(attainment),
              sort: attainment ?? -1,
            })),
          },
        ]),
    ...(plan.survives ? [{ title: 'at worst', cells: tried.map(({ lost = '–' }) => ({ text: lost })) }] : []),
    meetsColumn(tried),
  ]);
}

/** Figures of an experiment in some scenarios, a row each. */
export function scenarioTable(targets: readonly Threshold[], scenarios: readonly Tried[]): Table {
  const asked = targets.map(({ metric }) => metric);
  const isPriced = scenarios.some(({ costPerHour }) => costPerHour !== undefined);
  const aside = (title: string, name: keyof typeof ASIDE): PlanColumn[] =>
    asked.includes(ASIDE[name].metric)
      ? []
      : [
          figureColumn(
            title,
            ASIDE[name],
            scenarios.map(({ details }) => details?.[name]),
          ),
        ];
  return tableOf([
    namesOf('scenario', scenarios),
    ...targetColumns(targets, scenarios),
    ...aside('in time', 'attainment'),
    ...aside('p99', 'p99'),
    {
      title: 'worst',
      cells: scenarios.map(({ details }) => {
        const worst = details?.worst[0];
        return worst === undefined
          ? { text: '–', sort: 2 }
          : { text: `${worst.name} ${formatPercentCell(worst.attainment)} %`, sort: worst.attainment };
      }),
    },
    ...(isPriced
      ? [
          costColumn('per hour', scenarios, 'costPerHour'),
          costColumn('per million in time', scenarios, 'costPerMillion'),
        ]
      : []),
    ...(targets.length === 0 ? [] : [meetsColumn(scenarios)]),
  ]);
}

function tableOf(columns: readonly PlanColumn[]): Table {
  const rows = columns[0]!.cells.map((_, i) => columns.map(({ cells }) => cells[i]!));
  return { columns, rows, sortable: true, unlimited: true };
}

function namesOf(title: string, tried: readonly Tried[]): PlanColumn {
  return { title, cells: tried.map(({ value }, i) => ({ text: value, sort: i })) };
}

function keyColumn(title: string, tried: readonly Tried[]): PlanColumn {
  return { title, numeric: true, cells: tried.map(({ value }, i) => ({ text: valueLabel(value), sort: i })) };
}

function targetColumns(targets: readonly Threshold[], tried: readonly Tried[]): PlanColumn[] {
  return targets.map((target, k) =>
    figureColumn(
      target.text,
      target,
      tried.map(({ figures }) => figures[k]),
    ),
  );
}

function figureColumn(
  title: string,
  target: Threshold,
  figures: readonly (TargetFigure | undefined)[],
): PlanColumn {
  const cells = figures.map((figure) => ({
    text: figure === undefined ? '–' : estimateText(target, figure),
    sort: figure?.estimate?.mean ?? Number.POSITIVE_INFINITY,
  }));
  return { title, numeric: true, cells };
}

function costColumn(
  title: string,
  tried: readonly Tried[],
  which: 'costPerHour' | 'costPerMillion',
): PlanColumn {
  const costs = tried.map((one) => one[which] ?? null);
  const texts = costTexts(costs);
  const cells = costs.map((cost, i) => ({ text: texts[i]!, sort: cost ?? Number.POSITIVE_INFINITY }));
  return { title, numeric: true, cells };
}

const MEETS = { yes: 'yes', unsure: 'only on average', no: 'no' } as const;

function meetsColumn(tried: readonly Tried[]): PlanColumn {
  const cells = tried.map(({ refused, meets }) => ({
    text: refused === undefined ? MEETS[meets] : `cannot run: ${refused}`,
  }));
  return { title: 'meets', wraps: true, cells };
}

/** Costs as a column, in one precision; `–` if there is none. */
export function costTexts(costs: readonly (number | null)[]): string[] {
  const texts = costs.flatMap((cost) => (cost === null ? [] : priceText(cost)));
  const decimals = Math.max(0, ...texts.map((text) => text.split('.')[1]?.length ?? 0));
  return costs.map((cost) => (cost === null ? '–' : cost.toFixed(decimals)));
}
