import type { ComparedFigure } from './figures.js';
import { changeText } from './format.js';
import type { NamedRun } from './named-run.js';

/** Changes of one run against the first. */
export interface Headline {
  readonly run: string;
  /** Change of attainment, then the group and the model that lost most. */
  readonly text: string;
}

/** Smallest loss of a part that is reported: less is a handful of requests. */
const PART_LOSS = 0.005;

/** One headline for each run but the first. `figures`: of all runs. */
export function headlinesOf(
  [first, ...others]: readonly NamedRun[],
  figures: readonly ComparedFigure[],
): Headline[] {
  return others.map((other, at) => {
    const i = at + 1;
    const losses = (['group', 'model'] as const).flatMap((dimension) => {
      const lost = lostMost(figures, dimension, i);
      return lost === undefined ? [] : `most lost by ${changeText(lost, i)}`;
    });
    const attainment = figures.find(({ name }) => name === 'attainment')!;
    return {
      run: other.name,
      text: `${other.name} against ${first!.name}: ${[changeText(attainment, i), ...losses].join('; ')}.`,
    };
  });
}

/**
 * The group or model whose attainment fell most, and by more than its confidence interval if that is known; undefined
 * if none fell.
 */
function lostMost(figures: readonly ComparedFigure[], dimension: 'group' | 'model', i: number) {
  const changeOf = ({ differences }: ComparedFigure) => differences[i] ?? 0;
  return figures
    .filter(({ name }) => name.startsWith(`${dimension}.`) && name.endsWith('.attainment'))
    .filter((figure) => changeOf(figure) <= -Math.max(PART_LOSS, figure.margins[i] ?? 0))
    .sort((a, b) => changeOf(a) - changeOf(b))[0];
}
