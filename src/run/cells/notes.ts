import { listed, plural } from '../../text/words.js';
import { splitModels } from './cell-map.js';
import type { CellsResult } from './cells-result.js';
import type { Move } from './moves.js';

/** Models that one note names. */
const MOST_NAMED = 5;

/** What an operator should know before deploying a split. */
export function notesOf({
  splits,
  seeds,
  gpus,
  load,
}: Pick<CellsResult, 'splits' | 'seeds' | 'gpus' | 'load'>): string[] {
  const notes: string[] = [];
  for (const { cells, map, moves } of splits) {
    if (moves !== null) notes.push(movesNote(cells, moves));
    const split = splitModels(map);
    if (split.length === 0) continue;
    const named = split.slice(0, MOST_NAMED).map(({ name, cells: of }) => `${name} (${of.length})`);
    const more = split.length > MOST_NAMED ? [`${split.length - MOST_NAMED} more`] : [];
    notes.push(
      `with ${cells} cells, ${plural(split.length, 'model')} ${split.length === 1 ? 'is' : 'are'} too much for one cell, and in several: ${[...named, ...more].join(', ')}`,
    );
  }
  if (load > gpus) {
    notes.push(
      `the models need ${load.toFixed(1)} GPUs and the cluster has ${gpus}: no split can serve all requests`,
    );
  }
  notes.push(
    seeds.length === 1
      ? 'one seed: nothing is known of the spread between repetitions'
      : `loads were measured with seed ${seeds[0]}; the others show how the split does with traffic that it was not made for`,
  );
  return notes;
}

function movesNote(cells: number, moves: readonly Move[]): string {
  if (moves.length === 0) return `with ${cells} cells, no model of the map that is in use moves`;
  const named = moves
    .slice(0, MOST_NAMED)
    .map(({ name, from, to }) => `${name} from ${listed(from)} to ${listed(to)}`);
  const more = moves.length > MOST_NAMED ? [`${moves.length - MOST_NAMED} more`] : [];
  return `with ${cells} cells, ${plural(moves.length, 'model')} of the map that is in use ${moves.length === 1 ? 'moves' : 'move'}: ${[...named, ...more].join('; ')}`;
}
