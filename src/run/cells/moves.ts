import type { Experiment } from '../../config/experiment.js';
import type { CellMap } from './cell-map.js';
import type { Part } from './parts.js';

/** A model that an earlier map has in other cells. */
export interface Move {
  readonly name: string;
  /** Names of cells, in the order of their numbers. */
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/** For each part the cell that has it in an earlier map, by index; −1: none that there still is. */
export function cellsBefore(
  parts: readonly Part[],
  { models }: Pick<Experiment, 'models'>,
  before: CellMap,
  cells: number,
): number[] {
  const found = cellsByModel(before);
  const seen = new Map<number, number>();
  return parts.map(({ model }) => {
    const nth = seen.get(model) ?? 0;
    seen.set(model, nth + 1);
    const name = found.get(models[model]!.name)?.[nth];
    const cell = name === undefined ? -1 : Number(name.slice('cell-'.length)) - 1;
    return cell < cells ? cell : -1;
  });
}

/** The models of both maps that are in other cells now, in the order of the new map. */
export function movesOf(before: CellMap, after: CellMap): Move[] {
  const found = cellsByModel(before);
  return [...cellsByModel(after)].flatMap(([name, to]) => {
    const from = found.get(name);
    return from === undefined || from.join() === to.join() ? [] : [{ name, from, to }];
  });
}

function cellsByModel({ cells }: CellMap): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const { name: cell, models } of cells) {
    for (const { name } of models) found.set(name, [...(found.get(name) ?? []), cell]);
  }
  return found;
}
