import { exponential } from '../../src/base/random/distributions.js';
import { stream } from '../../src/base/random/streams.js';
import type { Action } from '../../src/core/action.js';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import type { ModelSpec } from '../../src/core/model.js';
import type { RunObserver } from '../../src/core/observer.js';
import { OUTCOME_CANCELLED, type Outcome, type RequestTable } from '../../src/core/request.js';
import type { PolicyOptions } from '../../src/policies/entry.js';
import { POLICIES } from '../../src/policies/registry.js';
import { Simulator, type SimulatorOptions } from '../../src/sim/index.js';

export const MS = 1_000_000;

/** Runs of tests are small: one with more actions than this goes round in circles. */
const MOST_ACTIONS = 100_000;

export interface Arrival {
  readonly timeNs: number;
  readonly model: number;
  readonly sloNs: number;
}

/** Plays arrivals from memory; each is its own user. `patienceOf`: how long the client of each waits; default: for ever. */
export class ListSource implements ArrivalSource {
  timeNs = Number.POSITIVE_INFINITY;
  model = 0;
  sloNs = 0;
  user = 0;
  patienceNs = Number.POSITIVE_INFINITY;
  private next = 0;

  constructor(
    private readonly arrivals: readonly Arrival[],
    private readonly patienceOf: (nth: number) => number = () => Number.POSITIVE_INFINITY,
  ) {
    this.advance();
  }

  advance(): void {
    const arrival = this.arrivals[this.next];
    this.user = this.next++;
    this.timeNs = arrival?.timeNs ?? Number.POSITIVE_INFINITY;
    this.model = arrival?.model ?? 0;
    this.sloNs = arrival?.sloNs ?? 0;
    this.patienceNs = this.patienceOf(this.user);
  }
}

export interface PoissonLoad {
  readonly seed: number;
  readonly rateRps: number;
  readonly durationNs: number;
  readonly models: number;
  /** SLOs that requests take in turn. */
  readonly slosNs: readonly number[];
}

/** Poisson arrivals that favour the first models. */
export function poisson({ seed, rateRps, durationNs, models, slosNs }: PoissonLoad): Arrival[] {
  const random = stream(seed, 'test-arrivals');
  const arrivals: Arrival[] = [];
  for (let timeNs = 0; ; ) {
    timeNs += Math.round((exponential(random) / rateRps) * 1e9);
    if (timeNs >= durationNs) return arrivals;
    const model = Math.floor(random() * random() * models);
    arrivals.push({ timeNs, model, sloNs: slosNs[arrivals.length % slosNs.length] });
  }
}

/** What is kept of a finished action, which the controller uses again. */
export type ActionRecord = Omit<Action, 'requests'> & { readonly copies: number; readonly handledNs: number };

export interface AnswerRecord {
  readonly id: number;
  readonly user: number;
  readonly model: number;
  readonly outcome: Outcome;
  readonly arrivalNs: number;
  readonly sloNs: number;
  readonly requestClass: number;
  readonly tenant: number;
  readonly length: number;
  /** Why its policy has not seen it: `LIMIT_NONE` and so on. */
  readonly limit: number;
  readonly nowNs: number;
  readonly arrivalCopies: number;
  /** Of the INFER that served it, −1 if none did. */
  readonly action: number;
  /** With pipelines, as in `RequestTable`: the step that it is of or failed at, and the request of which it is a part, or −1. */
  readonly step: number;
  readonly parent: number;
  /** With variants, as in `RequestTable`. */
  readonly accuracy: number;
}

export interface Run {
  readonly digest: string;
  readonly offered: number;
  readonly actions: ActionRecord[];
  readonly answers: AnswerRecord[];
  readonly simulator: Simulator;
}

export interface RunOptions extends Omit<SimulatorOptions, 'createPolicy' | 'source' | 'observer'> {
  readonly policy: string | SimulatorOptions['createPolicy'];
  readonly options?: PolicyOptions;
  readonly source: ArrivalSource;
  readonly cancelled?: NonNullable<RunObserver['cancelled']>;
  readonly onStart?: (simulator: Simulator) => void;
}

/** Runs the simulator to its end and keeps all that could be seen. */
export async function run({ policy, options = {}, cancelled, onStart, ...rest }: RunOptions): Promise<Run> {
  const { actions, answers, observer } = keepRecords();
  const simulator = new Simulator({
    ...rest,
    createPolicy: typeof policy === 'string' ? createPolicy(policy, options) : policy,
    observer: cancelled === undefined ? observer : { ...observer, cancelled },
  });
  onStart?.(simulator);
  await simulator.run();
  return { digest: simulator.controller.digest, offered: simulator.arrivals, actions, answers, simulator };
}

/** Keeps every answer and every action that an observer is shown; more actions than `mostActions` says end the run. */
export function keepRecords(mostActions = () => MOST_ACTIONS) {
  const actions: ActionRecord[] = [];
  const answers: AnswerRecord[] = [];
  const record = (requests: RequestTable, slot: number, outcome: Outcome, nowNs: number, action = -1) =>
    answers.push({
      id: requests.id[slot],
      user: requests.user[slot],
      model: requests.model[slot],
      outcome,
      arrivalNs: requests.arrivalNs[slot],
      sloNs: requests.sloNs[slot],
      requestClass: requests.requestClass[slot],
      tenant: requests.tenant[slot],
      length: requests.length[slot],
      limit: requests.limit[slot],
      nowNs,
      arrivalCopies: requests.arrivalCopies[slot],
      action,
      step: requests.step[slot],
      parent: requests.step[slot] > 0 ? requests.parent[slot] : -1,
      accuracy: requests.accuracy[slot],
    });
  const observer: RunObserver = {
    answered: (requests, slot, outcome, nowNs, _copies, action) =>
      record(requests, slot, outcome, nowNs, action?.id),
    completed: (action, nowNs, _queued, copies) => {
      actions.push({ ...action, copies, handledNs: nowNs });
      if (actions.length > mostActions()) throw new Error(`the run does not end: ${nowNs} ns`);
    },
  };
  /** For an observer that keeps those that were withdrawn, too. */
  const cancelled = (requests: RequestTable, slot: number, nowNs: number) =>
    record(requests, slot, OUTCOME_CANCELLED, nowNs);
  return { actions, answers, observer, cancelled };
}

/** The policy by its name, with the defaults of its options. */
export function createPolicy(kind: string, given: PolicyOptions = {}): SimulatorOptions['createPolicy'] {
  const entry = POLICIES.find((policy) => policy.kind === kind);
  if (entry === undefined) throw new Error(`no policy ${kind}`);
  const defaults = Object.entries(entry.options).map(([name, option]) => [name, option.default]);
  const options = { ...Object.fromEntries(defaults.filter(([, value]) => value !== undefined)), ...given };
  return (context) => entry.create(context, options);
}

/** ResNet-50 as the reference runs have it. */
export function resnets(count: number): ModelSpec[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `resnet50-${i}`,
    weightsBytes: 102_160_300,
    pages: 7,
    loadNs: 8_310_000,
    batchSizes: [1, 2, 4, 8, 16],
    execNs: [2_730_000, 4_050_000, 5_880_000, 9_930_000, 17_330_000],
    inputBytes: 602_112,
    outputBytes: 4000,
  }));
}
