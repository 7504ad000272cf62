import type { OperatorRun } from '../operator-runs.js';
import { runsOf, tableOf } from '../operator-table.js';
import type { WireOperators } from './protocol.js';

/** Operators per message: about 100 KB, so that results in between do not wait long. */
const CHUNK_OPERATORS = 2000;

/** Recorded operators as messages of the protocol, in order. */
export function* operatorsToWire(
  number: number,
  operators: readonly OperatorRun[],
): Generator<WireOperators> {
  for (let begin = 0; begin < operators.length; begin += CHUNK_OPERATORS) {
    const { nodes, node, action, beginNs, endNs } = tableOf(operators.slice(begin, begin + CHUNK_OPERATORS));
    yield {
      number,
      nodes,
      node: Array.from(node),
      action: Array.from(action),
      beginNs: Array.from(beginNs),
      endNs: Array.from(endNs),
    };
  }
}

/** Throws if the message is inconsistent. */
export function operatorsFromWire(message: WireOperators): OperatorRun[] {
  const { nodes, node, action, beginNs, endNs } = message;
  const fits = [action, beginNs, endNs].every(({ length }) => length === node.length);
  if (!fits || node.some((index) => !(index >= 0 && index < nodes.length)))
    throw new Error('its message of operators is inconsistent');
  return runsOf(message);
}
