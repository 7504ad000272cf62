import { AliasTable } from './alias-table.js';
import type { Popularity } from './spec.js';

/**
 * Table that draws which of `models` models a request is for. Zipf: the model at position k (from 1)
 * has weight 1 / k^s, so the first model is the most popular.
 */
export function popularityTable(popularity: Popularity, models: number): AliasTable {
  const exponent = popularity.kind === 'zipf' ? popularity.s : 0;
  const table = new AliasTable(models);
  const weights = Float64Array.from({ length: models }, (_, position) => (position + 1) ** -exponent);
  table.build(weights, 0, models);
  return table;
}
