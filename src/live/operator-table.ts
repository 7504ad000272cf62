import type { OperatorRun } from './operator-runs.js';

/** Many operator runs as columns, which are cheap to pass to another thread or over a network. */
export interface OperatorTable {
  readonly nodes: readonly Pick<OperatorRun, 'name' | 'operator' | 'provider'>[];
  /** By run: index into `nodes`. */
  readonly node: readonly number[];
  readonly action: readonly number[];
  readonly beginNs: readonly number[];
  readonly endNs: readonly number[];
}

export function tableOf(runs: readonly OperatorRun[]): OperatorTable {
  const nodes: OperatorTable['nodes'][number][] = [];
  const indexOf = new Map<string, number>();
  const node = runs.map(({ name, operator, provider }) => {
    const key = `${name}\n${operator}\n${provider}`;
    const index = indexOf.get(key) ?? nodes.push({ name, operator, provider }) - 1;
    indexOf.set(key, index);
    return index;
  });
  return {
    nodes,
    node,
    action: runs.map(({ action }) => action),
    beginNs: runs.map(({ beginNs }) => beginNs),
    endNs: runs.map(({ endNs }) => endNs),
  };
}

export function runsOf({ nodes, node, action, beginNs, endNs }: OperatorTable): OperatorRun[] {
  return node.map((index, i) => {
    const { name, operator, provider } = nodes[index];
    return { action: action[i], name, operator, provider, beginNs: beginNs[i], endNs: endNs[i] };
  });
}

/** Answer of a thread that reads recorded operators. */
export interface ReadOperators {
  readonly table: OperatorTable;
  readonly dropped: number;
}
