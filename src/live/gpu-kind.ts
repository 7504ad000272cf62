import type { WorkerDescription } from './messages.js';

/** Names of kinds of GPUs, used by the experiment, by the worker and in output. */
const NAME = /^[A-Za-z0-9][\w-]{0,63}$/;

export function isKindName(text: string): boolean {
  return NAME.test(text);
}

/** Kind of a worker's GPUs: its own name for it, or else its provider. */
export function kindOfWorker({ kind, gpus }: Pick<WorkerDescription, 'kind' | 'gpus'>): string {
  return kind ?? gpus[0].provider;
}
