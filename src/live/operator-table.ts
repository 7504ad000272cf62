import type { OperatorRun } from './operator-runs.js';

/** Common properties of the runs of one operator. */
export type OperatorNode = Pick<OperatorRun, 'name' | 'operator' | 'provider'>;

/** Many operator runs as columns, which are cheap to pass to another thread or over a network. */
interface OperatorTable {
  readonly nodes: readonly OperatorNode[];
  /** By run: index into `nodes`. */
  readonly node: ArrayLike<number>;
  readonly action: ArrayLike<number>;
  readonly beginNs: ArrayLike<number>;
  readonly endNs: ArrayLike<number>;
}

export function tableOf(runs: readonly OperatorRun[]): OperatorTable {
  const nodes: OperatorNode[] = [];
  const indexOf = new Map<string, number>();
  const node = new Int32Array(runs.length);
  for (let i = 0; i < runs.length; i++) {
    const { name, operator, provider } = runs[i];
    const key = `${name}\n${operator}\n${provider}`;
    const index = indexOf.get(key) ?? nodes.push({ name, operator, provider }) - 1;
    indexOf.set(key, index);
    node[i] = index;
  }
  return {
    nodes,
    node,
    action: Float64Array.from(runs, ({ action }) => action),
    beginNs: Float64Array.from(runs, ({ beginNs }) => beginNs),
    endNs: Float64Array.from(runs, ({ endNs }) => endNs),
  };
}

export function runsOf({ nodes, node, action, beginNs, endNs }: OperatorTable): OperatorRun[] {
  return Array.from(node, (index, i) => {
    const { name, operator, provider } = nodes[index];
    return { action: action[i], name, operator, provider, beginNs: beginNs[i], endNs: endNs[i] };
  });
}

/** Answer of a thread that reads recorded operators. */
export interface ReadOperators {
  readonly table: OperatorTable;
  readonly dropped: number;
}
