import { AliasTable } from './alias-table.js';
import type { Popularity } from './spec.js';

/** Table for drawing the model of a request, one of `models`. */
export function popularityTable(popularity: Popularity, models: number): AliasTable {
  const table = new AliasTable(models);
  table.build(popularityWeights(popularity, models), 0, models);
  return table;
}

/** Zipf: the model at position k (from 1) has weight 1 / k^s, so the first model is the most popular. */
export function popularityWeights(popularity: Popularity, models: number): Float64Array {
  const exponent = popularity.kind === 'zipf' ? popularity.s : 0;
  return Float64Array.from({ length: models }, (_, position) => (position + 1) ** -exponent);
}
