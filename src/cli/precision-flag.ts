import { EscapementError } from '../core/errors.js';
import { PRECISIONS, type Precision } from '../live/models/precision.js';
import { oneValueOr } from './args.js';

/** Which file of a model a command is about. */
export const precisionFlag = oneValueOr(
  'fp32',
  `Precision of weights and operators: ${PRECISIONS.join(' or ')}; inputs and outputs stay the same`,
);

/** The precision of that name. Throws `E_USAGE`. */
export function precisionOf(name: string): Precision {
  const found = PRECISIONS.find((precision) => precision === name);
  if (found !== undefined) return found;
  throw new EscapementError('E_USAGE', `--precision ${name}: choose one of ${PRECISIONS.join(', ')}`);
}
