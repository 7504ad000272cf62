import type { ModelSignature } from '../model.js';
import { ApiError, shown } from './api-error.js';

/** Index of the output that a client wants; throws an `ApiError` if the model has none of that name. */
export function outputIndex({ outputs }: ModelSignature, wanted: unknown): number {
  for (let i = 0; i < outputs.length; i++) if (outputs[i].name === wanted) return i;
  const known = outputs.map(({ name }) => shown(name)).join(', ');
  throw new ApiError('invalid', `output ${shown(wanted)}: not an output of the model (${known})`);
}
