import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite } from '../../base/files/output-file.js';
import { CellStore } from './cell-store.js';
import { refuseOtherResults, requireBegun } from './folder-check.js';
import { planSweep, type SweepQuestion } from './plan-sweep.js';
import { threadPool } from './pool.js';
import { isStored, type OnUnit, runUnits } from './run-units.js';
import { partOf, type Shard, type Unit, unitsOf } from './shard.js';
import { checkMark, leaveMark, markOf } from './shard-mark.js';

interface ShardRequest extends SweepQuestion {
  readonly shard: Shard;
  readonly outDir: string;
  readonly threads: number;
  /** Runs finished cells again. */
  readonly fresh: boolean;
  /** Called once, when every cell was checked and before the first one runs, with the units of this shard. */
  readonly onPlan: (units: readonly Unit[]) => void;
  readonly onUnit: OnUnit;
}

/** How much of a sweep a folder holds. */
export interface SweepStatus {
  readonly cells: Count;
  readonly bounds: Count;
}

interface Count {
  readonly all: number;
  readonly finished: number;
}

/**
 * Runs one part of a sweep into a folder that other processes, on other machines too, write to at the same time, and
 * leaves what the folder says of the whole sweep alone. Throws as `sweepExperiment`.
 */
export async function sweepShard(request: ShardRequest): Promise<SweepStatus> {
  const { outDir, fresh, version, shard } = request;
  const { header, planned } = await planSweep(request);
  const all = unitsOf(planned);
  const units = partOf(all, shard);
  if (!fresh) refuseOtherResults(outDir, header);
  try {
    makeFolder(outDir);
  } catch (cause) {
    throw cannotWrite(outDir, cause);
  }
  leaveMark(outDir, markOf(all, version), fresh);
  request.onPlan(units);
  const threads = Math.min(request.threads, units.length);
  if (threads > 0) {
    const runner = threadPool(threads);
    try {
      await runUnits(units, new CellStore(outDir, !fresh), runner, threads, request.onUnit);
    } finally {
      await runner.close();
    }
  }
  return statusOf(all, outDir);
}

/** How far a sweep is, of which nothing runs here. Throws as `sweepExperiment`, and `E_RESULTS` where none has begun. */
export async function sweepStatus(
  question: SweepQuestion & { readonly outDir: string },
): Promise<SweepStatus> {
  const { outDir, version } = question;
  const { planned } = await planSweep(question);
  requireBegun(outDir, planned.length);
  const units = unitsOf(planned);
  checkMark(outDir, markOf(units, version));
  return statusOf(units, outDir);
}

function statusOf(units: readonly Unit[], outDir: string): SweepStatus {
  const store = new CellStore(outDir, true);
  const count = (job: Unit['job']): Count => {
    const ofJob = units.filter((unit) => unit.job === job);
    return { all: ofJob.length, finished: ofJob.filter((unit) => isStored(unit, store)).length };
  };
  return { cells: count('runCell'), bounds: count('boundCell') };
}
