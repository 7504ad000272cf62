import { keyLabel, valueLabel } from '../quantity.js';
import type { Axis } from '../study/axes.js';

/** Arrangement of a comparison's conditions on paper. */
interface Layout {
  /** Along each small chart; null if only policies were varied. */
  readonly x: Axis | null;
  /** One chart per value, side by side. */
  readonly columns: Axis | null;
  /** Combinations of the other axes, one below the other. */
  readonly rows: readonly Axis[];
}

/**
 * The SLO goes along x, else the first number, else the first key; the load makes columns, else the next number; every
 * combination of the remaining keys makes a row.
 */
export function layoutOf(axes: readonly Axis[]): Layout {
  const numbers = axes.filter(({ kind }) => kind === 'number');
  const x = axes.find(({ key }) => key === 'slo') ?? numbers[0] ?? axes[0] ?? null;
  const isLoad = ({ key }: Axis) => key === 'load' || key.endsWith('.load');
  const columns =
    axes.filter((axis) => axis !== x).find(isLoad) ?? numbers.find((axis) => axis !== x) ?? null;
  return { x, columns, rows: axes.filter((axis) => axis !== x && axis !== columns) };
}

/** Values of these axes as words: `60 models 4 GPUs · Poisson`; a number with the name of its key. */
export function placeLabel(values: Readonly<Record<string, string>>, axes: readonly Axis[]): string {
  return axes
    .map(({ key, kind }) => {
      const label = valueLabel(values[key] ?? '');
      return kind === 'number' ? `${keyLabel(key)} ${label}` : label;
    })
    .join(' · ');
}
