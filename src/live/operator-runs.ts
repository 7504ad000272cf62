/** One run of one operator of a model, as onnxruntime's own profiler measured it. */
export interface OperatorRun {
  /** Id of the INFER that it was part of. */
  readonly action: number;
  /** Name of the node in the model, and its operator, e.g. `Conv_0` and `Conv`. */
  readonly name: string;
  readonly operator: string;
  /** Execution provider, e.g. `CPUExecutionProvider`. */
  readonly provider: string;
  readonly beginNs: number;
  readonly endNs: number;
}

/** Operators run by onnxruntime during the INFERs of one machine, or of several, while recording. */
export interface OperatorRuns {
  /** In no particular order. */
  readonly operators: readonly OperatorRun[];
  /** Approximate number of further runs: there were too many, or their session was not recorded yet. */
  readonly dropped: number;
}

/** Operators of all workers that a controller drives. */
export interface FleetOperatorRuns extends OperatorRuns {
  /** Workers whose operators are lost, at least in part, with reasons. */
  readonly problems: readonly string[];
}

export const NO_OPERATORS: OperatorRuns = { operators: [], dropped: 0 };

export function mergeOperatorRuns(parts: readonly OperatorRuns[]): OperatorRuns {
  return {
    operators: parts.flatMap(({ operators }) => operators),
    dropped: parts.reduce((sum, { dropped }) => sum + dropped, 0),
  };
}
