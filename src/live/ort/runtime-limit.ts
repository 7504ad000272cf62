import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** Limits a single call of onnxruntime while a model is prepared, in this thread and those started later. */
export function limitRuntimeCalls(limitMs: number): void {
  setEnvironmentData(LIMIT, limitMs);
}

export function runtimeLimitMs(): number {
  return Number(getEnvironmentData(LIMIT) ?? DEFAULT_LIMIT_MS);
}

const LIMIT = 'escapement-runtime-limit';
const DEFAULT_LIMIT_MS = 30_000;
