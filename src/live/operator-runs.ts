/** One run of one operator of a model, as onnxruntime's own profiler measured it. */
export interface OperatorRun {
  /** Id of the INFER that it was part of. */
  readonly action: number;
  /** Name of the node in the model, and its operator, e.g. `Conv_0` and `Conv`. */
  readonly name: string;
  readonly operator: string;
  /** What ran it, e.g. `CPUExecutionProvider`. */
  readonly provider: string;
  readonly beginNs: number;
  readonly endNs: number;
}

/** What onnxruntime did below the INFERs of one machine, or of several, while it was recorded. */
export interface OperatorRuns {
  /** In no particular order. */
  readonly operators: readonly OperatorRun[];
  /** About how many more ran meanwhile: there were too many, or their session was not recorded yet. */
  readonly dropped: number;
}

/** The same of all workers that a controller drives. */
export interface FleetOperatorRuns extends OperatorRuns {
  /** Whose operators are lost, or some of them, and why. */
  readonly problems: readonly string[];
}

export const NO_OPERATORS: OperatorRuns = { operators: [], dropped: 0 };

export function mergeOperatorRuns(parts: readonly OperatorRuns[]): OperatorRuns {
  return {
    operators: parts.flatMap(({ operators }) => operators),
    dropped: parts.reduce((sum, { dropped }) => sum + dropped, 0),
  };
}
