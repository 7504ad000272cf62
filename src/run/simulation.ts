import { EscapementError } from '../base/errors.js';
import { createPolicyOf } from '../config/create-policy.js';
import type { Experiment } from '../config/experiment.js';
import { openWorkloads } from '../config/open-workloads.js';
import type { ArrivalSource } from '../core/arrivals.js';
import type { Controller } from '../core/controller.js';
import type { FleetObserver } from '../core/fleet-observer.js';
import type { RunObserver } from '../core/observer.js';
import type { Worker } from '../core/worker.js';
import { fanOut } from '../record/fan-out.js';
import type { ScheduledRun } from '../record/results.js';
import { Simulator } from '../sim/simulator.js';
import { Collector } from './collector.js';
import { followController, openScaling, type Scaling } from './scaling.js';

export interface SimulationOptions {
  /** Sees decisions, results and answers as they happen. */
  readonly observer?: RunObserver;
  /** Sees GPUs that come and go. */
  readonly fleetObserver?: FleetObserver;
  /** Further percentiles for the summary, ascending. */
  readonly percentiles?: readonly number[];
}

/**
 * An experiment on simulated GPUs that runs in steps of any length. What it decides does not depend on how it is divided:
 * at the end, digest and result are those of `simulate`.
 *
 * @example
 * const simulation = await Simulation.open(experiment, { observer });
 * while (simulation.nextNs < Infinity) await simulation.advance(simulation.nextNs + 20e6);
 * console.log(simulation.result().summary);
 */
export class Simulation {
  /** Nominal length of the workload, ns. The last requests are answered after it. */
  readonly durationNs: number;

  private constructor(
    private readonly experiment: Experiment,
    private readonly simulator: Simulator,
    private readonly collector: Collector,
    durationNs: number,
  ) {
    this.durationNs = durationNs;
  }

  /** Opens a run before its first event. Throws coded errors for bad traces. */
  static async open(experiment: Experiment, options: SimulationOptions = {}): Promise<Simulation> {
    const { observer, fleetObserver, percentiles = [] } = options;
    const workload = await openWorkloads(experiment);
    const collector = new Collector(experiment, workload, { percentiles });
    const fleetObservers = [collector.fleet, fleetObserver].filter((one) => one != null);
    const scaling = await openScaling(experiment, workload.durationNs, collector.failures, fleetObservers);
    const observers = [
      ...(scaling?.autoscaler ? [scaling.autoscaler] : []),
      ...collector.observers,
      ...(observer === undefined ? [] : [observer]),
    ];
    const simulator = simulatorOf(experiment, workload.source, fanOut(observers), scaling);
    collector.watch(simulator.controller);
    return new Simulation(experiment, simulator, collector, workload.durationNs);
  }

  /** Virtual time of the last event, ns since the start of the run. */
  get nowNs(): number {
    return this.simulator.nowNs;
  }

  /** Time of the next event; Infinity: the run is over. */
  get nextNs(): number {
    return this.simulator.nextNs;
  }

  /** State and plans of the scheduler; read-only. */
  get controller(): Controller {
    return this.simulator.controller;
  }

  /** State of each GPU; read-only. */
  get workers(): readonly Worker[] {
    return this.simulator.workers;
  }

  /**
   * Runs all events up to and at `untilNs`: `nextNs` is one step, Infinity the rest of the run. Periodically awaits the
   * result of `onProgress`. Rejects with a RangeError for NaN, and with errors of a trace that is streamed.
   */
  async advance(untilNs: number, onProgress?: (nowNs: number) => void | Promise<void>): Promise<void> {
    if (Number.isNaN(untilNs)) throw new RangeError('a simulation cannot advance to NaN');
    await this.simulator.advance(Math.min(untilNs, Number.MAX_VALUE), onProgress);
    if (this.nextNs === Number.POSITIVE_INFINITY) {
      refuseUnanswered(this.experiment, this.controller.requests.size);
    }
  }

  /** Result of `simulate` for the whole run; before its end, the answers so far, with rates over the nominal length. */
  result(): ScheduledRun {
    return this.collector.finish('simulated', this.controller.digest, this.simulator.arrivals);
  }
}

/** The cluster of an experiment, simulated. */
export function simulatorOf(
  experiment: Experiment,
  source: ArrivalSource,
  observer: RunObserver,
  scaling: Scaling | null,
): Simulator {
  const { cluster, models, pipelines } = experiment;
  const simulator = new Simulator({
    ...cluster,
    models,
    pipelines,
    spreads: cluster.noise.distribution === 'profile' ? experiment.spreads : null,
    exponential: cluster.noise.distribution === 'exponential',
    defaultSloNs: experiment.sloNs,
    createPolicy: createPolicyOf(experiment.policy),
    admission: experiment.admission,
    ...(experiment.classes.length === 0 ? {} : { classes: experiment.classes }),
    ...(experiment.tenants.list.length === 0 ? {} : { tenants: experiment.tenants.list }),
    padding: experiment.padding,
    ...(experiment.missedWindow === null ? {} : { missedWindow: experiment.missedWindow }),
    source,
    seed: experiment.seed,
    observer,
    checks: experiment.checks,
    ...(scaling === null ? {} : { fleet: scaling.fleet }),
  });
  followController(scaling, simulator.controller);
  return simulator;
}

/** A policy of a plugin may keep requests for ever, although no more events come. */
export function refuseUnanswered({ policy: { kind, plugin } }: Experiment, requests: number): void {
  if (plugin === undefined || requests === 0) return;
  const what = `the policy ${kind} left ${requests} requests without an answer: it must send or refuse them, or admit must return a time at which they are given up`;
  throw new EscapementError('E_PLUGIN', what, { file: plugin.file });
}
