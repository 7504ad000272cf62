import { NS_PER_MS } from '../../base/units.js';
import { parseExperiment } from '../../browser/parse.js';
import type { Experiment } from '../../config/experiment.js';
import { targetNames } from '../../config/pipelines.js';
import { OUTCOME_OK } from '../../core/request.js';
import type { LoggedChange } from '../../record/flight/flight.js';
import type { ScheduledRun } from '../../record/results.js';
import { REQUEST } from '../../record/run-rows.js';
import { pipelineSetup } from '../../run/collector.js';
import { Simulation } from '../../run/simulation.js';
import type { LaneFrame, LaneSource, OpenedLane, Story } from '../protocol.js';
import { storyOf } from '../story.js';
import { RunTable } from './run-table.js';
import { Statistics } from './statistics.js';

/** One running experiment and its state for the page. */
export class Lane {
  private readonly statistics: Statistics;

  private constructor(
    private readonly experiment: Experiment,
    private readonly simulation: Simulation,
    private readonly table: RunTable,
    private readonly fleet: readonly LoggedChange[],
  ) {
    this.statistics = new Statistics(table.requests);
  }

  /** Opens an experiment. Throws an EscapementError with the place of the first mistake. */
  static async open({ text, overrides, files }: LaneSource): Promise<Lane> {
    const experiment = await parseExperiment(text, { overrides, files });
    const table = new RunTable(experiment.models);
    const fleet: LoggedChange[] = [];
    const simulation = await Simulation.open(experiment, {
      observer: table,
      fleetObserver: { gpuChanged: (gpu, state, atNs) => void fleet.push({ atNs, gpu, state }) },
    });
    table.watch(simulation.controller.requests);
    return new Lane(experiment, simulation, table, fleet);
  }

  /** Time of the next event; Infinity: the run is over. */
  get nextNs(): number {
    return this.simulation.nextNs;
  }

  get digest(): string {
    return this.simulation.controller.digest;
  }

  get answered(): number {
    return this.table.requests.count;
  }

  advance(untilNs: number): Promise<void> {
    return this.simulation.advance(untilNs);
  }

  opened(isPastSame: boolean): OpenedLane {
    const { name, policy, cluster, models, pipelines, sloNs, warmupNs, seed } = this.experiment;
    return {
      ...{ name, sloNs, warmupNs, seed, isPastSame },
      policy: policy.kind,
      gpus: cluster.gpus,
      oneLane: cluster.oneLane,
      models: targetNames(models, pipelines),
      durationNs: this.simulation.durationNs,
    };
  }

  /** Changes since the last frame. */
  frame(nowNs: number): LaneFrame {
    const { table, statistics, simulation } = this;
    return {
      actions: table.takeActions(simulation.workers),
      requests: table.takeRequests(),
      ...statistics.at(nowNs, simulation.controller.requests.size),
      digest: this.digest,
    };
  }

  /** First request not answered in time from answer number `first` on; null: none yet. */
  missedFrom(first: number): number | null {
    const { requests } = this.table;
    for (let row = first; row < requests.count; row++)
      if (requests.get(row, REQUEST.outcome) !== OUTCOME_OK) return requests.get(row, REQUEST.id);
    return null;
  }

  story(request: number): Story | null {
    const { cluster, models, pipelines } = this.experiment;
    const setup = {
      gpus: cluster.gpus,
      oneLane: cluster.oneLane,
      models: targetNames(models, pipelines),
      modelInferMs: models.map(({ execNs }) => execNs[0] / NS_PER_MS),
      ...(pipelines.length > 0 && { pipelines: pipelineSetup(pipelines) }),
      ...(this.fleet.length > 0 && { fleet: this.fleet }),
      slow: cluster.slowdowns.map(({ gpu, atNs, untilNs, times }) => ({
        ...{ gpu, fromNs: atNs, times },
        untilNs: Number.isFinite(untilNs) ? untilNs : null,
      })),
    };
    return storyOf(this.table, setup, request);
  }

  result(): ScheduledRun {
    return this.simulation.result();
  }
}
