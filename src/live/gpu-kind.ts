import type { WorkerDescription } from './messages.js';

/** GPUs of a kind are named alike, by the experiment, by the worker and in what people read. */
const NAME = /^[A-Za-z0-9][\w-]{0,63}$/;

export function isKindName(text: string): boolean {
  return NAME.test(text);
}

/** The kind of a worker's GPUs: as it calls it, or else by its provider. */
export function kindOfWorker({ kind, gpus }: Pick<WorkerDescription, 'kind' | 'gpus'>): string {
  return kind ?? gpus[0].provider;
}
