import type { ServedModel } from '../model.js';

/** So many LOADs of a version count. */
const WINDOW = 10;
/** Versions that are remembered: more than a server has places for. */
const MOST_VERSIONS = 1024;

/**
 * How long LOADs of models took that come and go. The profile was measured with the file in the caches of the CPU; a model
 * that was away for a while has to be read from memory, among others, and takes many times as long.
 */
export class LoadTimes {
  /** By version and kind of GPU, what was loaded last at the end. */
  private readonly measured = new Map<string, number[]>();

  record(model: ServedModel, kind: number, durationNs: number): void {
    const key = keyOf(model, kind);
    const times = this.measured.get(key) ?? [];
    this.measured.delete(key);
    this.measured.set(key, times);
    times.push(durationNs);
    if (times.length > WINDOW) times.shift();
    if (this.measured.size > MOST_VERSIONS) this.measured.delete(this.measured.keys().next().value as string);
  }

  /** The model with the LOAD that is to be expected: the median of the last ones, or that of its profile if there were none. */
  expected(model: ServedModel): ServedModel {
    const { spec } = model;
    const loadNs = this.medianNs(model, 0) ?? spec.loadNs;
    const otherKinds = spec.otherKinds?.map((times, i) => {
      return { ...times, loadNs: this.medianNs(model, i + 1) ?? times.loadNs };
    });
    return { ...model, spec: { ...spec, loadNs, ...(otherKinds === undefined ? {} : { otherKinds }) } };
  }

  private medianNs(model: ServedModel, kind: number): number | undefined {
    const times = this.measured.get(keyOf(model, kind));
    return times?.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
  }
}

/** The same files and settings under the same name. */
function keyOf({ spec, version, digest = '' }: ServedModel, kind: number): string {
  return JSON.stringify([spec.name, version, digest, kind]);
}
