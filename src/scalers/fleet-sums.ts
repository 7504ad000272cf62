import type { ScaledKind } from '../core/scaler.js';

/** Capacity of these GPUs, in GPUs of the first kind. */
export function capacityOf(kinds: readonly ScaledKind[], gpus: readonly number[]): number {
  return sumOf(kinds, ({ speed }, kind) => speed * gpus[kind]);
}

/** GPUs by kind if nothing changes: those on and those starting. */
export function keptGpus(kinds: readonly ScaledKind[]): number[] {
  return kinds.map(({ on, starting }) => on + starting);
}

export function sumOf<T>(list: ArrayLike<T> & Iterable<T>, of: (item: T, index: number) => number): number {
  let sum = 0;
  let index = 0;
  for (const item of list) sum += of(item, index++);
  return sum;
}
