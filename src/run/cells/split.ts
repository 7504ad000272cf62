import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import type { Experiment } from '../../config/experiment.js';
import { significant } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import type { CellMap, MappedCell } from './cell-map.js';
import { dealGpus, type GpuBlock } from './deal-gpus.js';
import { dealParts } from './deal-parts.js';
import type { MeasuredLoad } from './measure-load.js';
import { cellsBefore } from './moves.js';
import { type Part, partsOf } from './parts.js';

/** Digits of a load in a map: more would change with nothing that matters. */
const DIGITS = 6;

interface SplitOptions {
  readonly cells: number;
  /** Version of the program. */
  readonly version: string;
  /** A split that is in use, of which as much as possible is kept; null: there is none. */
  readonly before: CellMap | null;
}

/** Splits the models and GPUs of an experiment over so many cells. Throws `E_USAGE` where there are too few. */
export function splitIntoCells(
  experiment: Experiment,
  measured: MeasuredLoad,
  { cells, version, before }: SplitOptions,
): CellMap {
  const { cluster, models, name } = experiment;
  const blocks = dealGpus(cluster, cells);
  const parts = partsOf(
    measured,
    models.map(({ pages }) => pages),
    { cells, gpus: cluster.gpus },
  );
  if (parts.length < cells) {
    throw new EscapementError(
      'E_USAGE',
      `--cells ${cells}: ${plural(models.length, 'model')} cannot be dealt to so many cells; give at most ${parts.length}`,
    );
  }
  const cellOf = dealParts(
    parts,
    blocks.map(([from, to]) => to - from),
    before === null ? null : cellsBefore(parts, experiment, before, cells),
  );
  const total = measured.means.reduce((sum, mean) => sum + mean, 0);
  return {
    version: 1,
    escapement: version,
    name,
    intervalSeconds: measured.intervalNs / NS_PER_S,
    cells: blocks.map((block, cell) =>
      mappedCell(
        `cell-${cell + 1}`,
        block,
        parts.filter((_, i) => cellOf[i] === cell),
        { models, total },
      ),
    ),
  };
}

function mappedCell(
  name: string,
  [from, to]: GpuBlock,
  parts: readonly Part[],
  { models, total }: Pick<Experiment, 'models'> & { readonly total: number },
): MappedCell {
  const load = parts.reduce((sum, { mean }) => sum + mean, 0);
  const intervals = parts[0]!.load.map((_, i) => parts.reduce((sum, part) => sum + part.load[i]!, 0));
  return {
    name,
    gpus: `${from}:${to}`,
    load: significant(load, DIGITS),
    loadShare: total === 0 ? 0 : significant(load / total, DIGITS),
    peakLoad: significant(
      intervals.reduce((most, one) => Math.max(most, one), 0),
      DIGITS,
    ),
    weightsBytes: parts.reduce((sum, { model }) => sum + models[model]!.weightsBytes, 0),
    models: parts.map(({ model, mean, from: begin, to: end }) => ({
      name: models[model]!.name,
      load: significant(mean, DIGITS),
      ...(end - begin === 1 ? {} : { requests: [begin, end] as const }),
    })),
  };
}
