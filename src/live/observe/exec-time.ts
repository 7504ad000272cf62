import type { Action } from '../../core/action.js';
import type { ResultMessage } from '../messages.js';

/** Computing time of an INFER, without the copies before and after. */
export function execNsOf(
  { beginNs, endNs }: Action,
  { copyInNs, copyOutNs }: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>,
): number {
  return Math.max(0, endNs - beginNs - copyInNs - copyOutNs);
}
