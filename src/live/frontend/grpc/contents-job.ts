import type { JobResult } from '../codec/job-result.js';
import { bytesOfContents, type TypedTensor } from './contents.js';

interface ContentsInput {
  readonly message: Uint8Array<ArrayBuffer>;
  readonly tensors: readonly TypedTensor[];
}

/** Decodes the typed contents of a ModelInferRequest. Throws a refusal. */
export function grpcContents({ message, tensors }: ContentsInput): JobResult<readonly Uint8Array[]> {
  const value = tensors.map((tensor) => bytesOfContents(message, tensor));
  return { value, transfer: value.map(({ buffer }) => buffer) };
}
