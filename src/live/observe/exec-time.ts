import type { Action } from '../../core/action.js';
import type { ResultMessage } from '../messages.js';

/** How long an INFER computed: without the copies before and after. */
export function execNsOf(
  { beginNs, endNs }: Action,
  { copyInNs, copyOutNs }: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>,
): number {
  return Math.max(0, endNs - beginNs - copyInNs - copyOutNs);
}
