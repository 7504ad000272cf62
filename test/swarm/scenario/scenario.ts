import { NS_PER_S } from '../../../src/base/units.js';
import type { Split } from '../../../src/core/pipelines.js';
import type { Fault } from './fault.js';

/** A controller that is to end answers what it has for so long. */
export const DRAIN_NS = 10 * NS_PER_S;

/** One run of the swarm as plain data: what there is, what clients do, what goes wrong. The same scenario and code give the same run. */
export interface Scenario {
  /** Of all that is random while it runs: delays, arrivals. */
  readonly seed: number;
  readonly cluster: ClusterScenario;
  readonly workload: WorkloadScenario;
  /** By time. */
  readonly faults: readonly Fault[];
  /** Clients and faults have ended by then. */
  readonly loadNs: number;
  /** From then on all must work again within this time. */
  readonly recoverNs: number;
}

export interface ClusterScenario {
  readonly machines: readonly MachineScenario[];
  /** The first is active when all start at the same time. */
  readonly controllers: readonly ControllerScenario[];
  /** How controllers and workers find each other. */
  readonly joining: 'listed' | 'registers';
  readonly policy: PolicyScenario;
  /** The first is that of clients that name none. Absent: there are none. */
  readonly classes?: readonly ClassScenario[];
  readonly tenants?: readonly TenantScenario[];
  /** What says how many GPUs are needed. Absent: nothing does. */
  readonly scaler?: ScalerScenario;
  readonly admission: 'none' | 'predict';
  readonly models: readonly ModelScenario[];
  /** Absent: there are none. */
  readonly pipelines?: readonly PipelineScenario[];
  /** Who decides which models are served. */
  readonly control: 'all' | 'explicit';
  readonly defaultSloNs: number;
  /** Of each GPU's weights cache. */
  readonly pages: number;
  /** Between any two machines, in one direction. */
  readonly delayNs: number;
  readonly jitterNs: number;
}

export interface MachineScenario {
  /** Also that of its worker process. */
  readonly name: string;
  readonly gpus: number;
  readonly clock: ClockScenario;
  /** Of its GPUs. Absent: they are as all others. */
  readonly kind?: KindScenario;
  /** Models that it does not have. Absent: it has all, from its start; otherwise it waits to be asked for them. */
  readonly lacks?: readonly string[];
}

export interface KindScenario {
  readonly name: string;
  /** INFERs take so many times as long as the models say. */
  readonly slowness: number;
  /** Of each GPU's weights cache, in place of those of the cluster. */
  readonly pages: number;
}

export interface ClassScenario {
  readonly name: string;
  readonly weight: number;
  /** Of GPU time that is guaranteed to it. */
  readonly share: number;
}

export interface TenantScenario {
  readonly name: string;
  /** Requests a second that it may send; null: any number. */
  readonly rateRps: number | null;
  readonly burst: number;
  /** Its part under overload, relative to others. */
  readonly share: number;
}

/** It may ask for one GPU of each kind, up to some more than there are. */
export interface ScalerScenario {
  readonly kind: string;
  readonly intervalNs: number;
  readonly startNs: number;
  readonly more: number;
}

export interface ControllerScenario {
  /** Also that of its machine. */
  readonly name: string;
  readonly isStandby: boolean;
  readonly startNs: number;
  readonly hasJournal: boolean;
  readonly clock: ClockScenario;
}

/** The machine's monotonic clock: what it shows at the beginning of the world, and how it runs. */
export interface ClockScenario {
  readonly originNs: number;
  readonly driftPpm: number;
}

/** Options as in an experiment file, durations in ns. */
export interface PolicyScenario {
  readonly kind: string;
  readonly options: Readonly<Record<string, number | 'auto'>>;
}

export interface ModelScenario {
  readonly name: string;
  readonly pages: number;
  readonly loadNs: number;
  readonly batchSizes: readonly number[];
  /** By batch size. */
  readonly execNs: readonly number[];
  /** Of one request. */
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** It yields any number of rows, as the request says, and takes one request at a time. Absent: it yields one. */
  readonly yieldsRows?: true;
}

export interface PipelineScenario {
  readonly name: string;
  readonly split: Split;
  /** In an order in which they can run. */
  readonly steps: readonly StepScenario[];
}

export interface StepScenario {
  /** That may serve it, the most accurate first. */
  readonly models: readonly string[];
  /** Indices of steps that it waits for. */
  readonly after: readonly number[];
  /** The one of them that feeds it; null: the client does. */
  readonly source: number | null;
  /** Each of its requests gets one row. */
  readonly isDealt: boolean;
}

export interface WorkloadScenario {
  readonly clients: readonly ClientScenario[];
  readonly changes: readonly ModelChangeScenario[];
}

/** Sends requests at random times, whether the earlier ones are answered or not. */
export interface ClientScenario {
  /** Names its random streams, so that it does the same if another client is left out. */
  readonly name: string;
  /** Names of models and pipelines, one as likely as the other. */
  readonly models: readonly string[];
  readonly sloNs: number;
  readonly rateRps: number;
  /** Requests that come at the same time. */
  readonly burst: number;
  readonly beginNs: number;
  readonly endNs: number;
  /** It sends again what was refused or cut off, so often at most. */
  readonly repeats: number;
  /** It does not wait longer for an answer; null: as long as it takes. */
  readonly patienceNs: number | null;
  /** Indices among those of the cluster. Absent: it names none. */
  readonly requestClass?: number;
  readonly tenant?: number;
}

/** Pages of each GPU of a machine. */
export function pagesOn({ machines, pages }: ClusterScenario, machine: string): number {
  return machines.find(({ name }) => name === machine)?.kind?.pages ?? pages;
}

/** A client of the model repository. */
export interface ModelChangeScenario {
  readonly atNs: number;
  readonly kind: 'load' | 'unload';
  readonly model: string;
}
