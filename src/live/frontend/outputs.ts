import type { ModelSignature } from '../model.js';
import { Refusal, shown } from './refusal.js';

/** Index of the output that a client wants; throws a refusal if the model has none of that name. */
export function outputIndex({ outputs }: ModelSignature, wanted: unknown): number {
  for (let i = 0; i < outputs.length; i++) if (outputs[i].name === wanted) return i;
  const known = outputs.map(({ name }) => shown(name)).join(', ');
  throw new Refusal('invalid', `output ${shown(wanted)}: not an output of the model (${known})`);
}
