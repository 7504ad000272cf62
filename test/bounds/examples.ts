import type { OfferedRequests } from '../../src/bounds/requests.js';
import type { ModelSpec } from '../../src/core/model.js';

/** One request: model, arrival and SLO, in any unit of time. */
export type Row = readonly [model: number, arrival: number, slo: number];

export function offered(rows: readonly Row[]): OfferedRequests {
  return {
    count: rows.length,
    model: Int32Array.from(rows, ([model]) => model),
    arrivalNs: Float64Array.from(rows, ([, arrival]) => arrival),
    sloNs: Float64Array.from(rows, ([, , slo]) => slo),
  };
}

/** A model with these batch sizes and execution times; nothing else of it matters. */
export function model(exec: Readonly<Record<number, number>>): ModelSpec {
  return {
    name: 'model',
    weightsBytes: 1,
    pages: 1,
    loadNs: 1,
    batchSizes: Object.keys(exec).map(Number),
    execNs: Object.values(exec),
    inputBytes: 0,
    outputBytes: 0,
  };
}
