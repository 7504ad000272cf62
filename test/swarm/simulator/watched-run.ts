import type { Experiment } from '../../../src/config/experiment.js';
import { type Action, INFER, STATUS_OK } from '../../../src/core/action.js';
import type { RunObserver } from '../../../src/core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../../../src/core/request.js';
import type { ScheduledRun } from '../../../src/record/results.js';
import type { Problem } from './checks.js';
import { FleetBooks } from './fleet-books.js';
import { GpuBooks } from './gpu-books.js';
import { NumberSet } from './number-set.js';
import type { SentRequest } from './watched-source.js';

/** More actions than this for each request: the run goes round in circles. */
const MOST_ACTIONS = 300_000;
const MOST_ACTIONS_PER_REQUEST = 20;
const TWO_32 = 2 ** 32;

/**
 * Checks a run of any length while it goes on, and keeps nothing of it but a bit for each request and action, and what each
 * GPU holds.
 */
export class WatchedRun {
  readonly observer: RunObserver;
  readonly fleet: FleetBooks;
  sent = 0;
  answers = 0;
  /** Answers to requests that pipelines made of them. */
  parts = 0;
  /** Results of actions. */
  actions = 0;
  /** When the latest answer came. */
  endNs = 0;
  /** The first thing that does not hold. */
  problem: Problem | null = null;
  private orders = 0;
  private readonly answered = new NumberSet();
  private readonly ended = new NumberSet();
  private readonly gpus: readonly GpuBooks[];
  /** By outcome, of requests that count. */
  private readonly outcomes = OUTCOME_NAMES.map(() => 0);
  /** Of requests that are under way, in any order: 0 when each was answered as it was sent. */
  private sum = 0;

  constructor(private readonly experiment: Experiment) {
    const { cluster, models } = experiment;
    const { oneLane, overheadNs } = cluster;
    this.gpus = cluster.kinds.flatMap(({ gpus, pages }) =>
      Array.from({ length: gpus }, () => new GpuBooks({ pages, oneLane, overheadNs }, models)),
    );
    this.fleet = new FleetBooks(experiment, (gpu) => this.gpus[gpu].gone());
    this.observer = {
      decided: (action) => this.decided(action),
      answered: (requests, slot, outcome, nowNs, _copies, action) =>
        this.answer(requests, slot, outcome, nowNs, action),
      cancelled: (requests, slot, nowNs) => this.answer(requests, slot, OUTCOME_CANCELLED, nowNs, null),
      completed: (action, nowNs) => this.completed(action, nowNs),
    };
  }

  /** A request is handed to the scheduler. */
  arrived(request: SentRequest): void {
    this.sent++;
    const { length } = this.experiment.models;
    this.sum = (this.sum + mixed(request.model < length ? request : { ...request, length: 0 })) % TWO_32;
  }

  /** What does not hold of the whole run. */
  finish({ summary }: ScheduledRun): Problem | null {
    const { requests } = summary;
    this.require('each request is answered', this.answers === this.sent && this.answered.isWhole, () => [
      this.sent,
      this.answers,
    ]);
    this.require('requests are answered as they were sent', this.sum === 0, () => this.sum);
    const isWhole = this.ended.isWhole && this.actions === this.orders;
    this.require('each action has a result', isWhole, () => [this.orders, this.actions]);
    const { cancelled = 0 } = summary;
    OUTCOME_NAMES.forEach((name, outcome) => {
      const seen = this.outcomes[outcome];
      const counted = name === 'cancelled' ? cancelled : requests[name];
      this.require(`the summary counts ${name}`, counted === seen, () => [counted, seen]);
    });
    this.problem ??= this.fleet.problem;
    return this.problem;
  }

  private decided(action: Action): void {
    this.orders++;
    const what = this.gpus[action.gpu].decided(action) || this.fleet.decided(action);
    if (what !== '') this.require(what, false, () => action);
  }

  private answer(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
  ): void {
    const [id, model] = [requests.id[slot], requests.model[slot]];
    const isStep = requests.step[slot] > 0;
    const [arrivalNs, sloNs] = [requests.arrivalNs[slot], requests.sloNs[slot]];
    if (isStep) this.parts++;
    else this.answers++;
    const request = {
      ...{ timeNs: arrivalNs, model, sloNs, user: requests.user[slot], length: requests.length[slot] },
      ...{ requestClass: requests.requestClass[slot], tenant: requests.tenant[slot] },
    };
    if (!isStep) this.sum = (this.sum - mixed(request) + TWO_32) % TWO_32;
    if (!isStep && arrivalNs >= this.experiment.warmupNs) this.outcomes[outcome]++;
    const holds =
      this.answered.add(id) &&
      nowNs >= arrivalNs &&
      nowNs >= this.endNs &&
      (model < this.experiment.models.length
        ? isTrue(outcome, action, model, nowNs - arrivalNs - sloNs)
        : action === null && (outcome !== OUTCOME_OK || nowNs <= arrivalNs + sloNs));
    this.endNs = nowNs;
    if (!holds) this.require('an answer is true', false, () => ({ id, outcome, nowNs, arrivalNs, action }));
  }

  private completed(action: Action, nowNs: number): void {
    this.actions++;
    if (this.actions > MOST_ACTIONS + MOST_ACTIONS_PER_REQUEST * (this.sent + this.parts))
      throw new Error(`the run does not end: ${nowNs} ns`);
    const isFirst = this.ended.add(action.id);
    const holds = this.fleet.completed(action) || this.gpus[action.gpu].completed(action);
    const what = isFirst ? holds : 'an action has one result';
    if (what !== '') this.require(what, false, () => action);
  }

  private require(check: string, holds: boolean, what: () => unknown): void {
    if (!holds) this.problem ??= { check, what: JSON.stringify(what()) };
  }
}

/** Whether an answer says what became of its request. */
function isTrue(outcome: Outcome, action: Action | null, model: number, lateNs: number): boolean {
  if (outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE && outcome !== OUTCOME_ERROR) return action === null;
  if (action === null || action.kind !== INFER || action.model !== model) return false;
  if ((action.status === STATUS_OK) !== (outcome !== OUTCOME_ERROR)) return false;
  return outcome === OUTCOME_ERROR || lateNs > 0 === (outcome === OUTCOME_LATE);
}

function mixed({ timeNs, model, sloNs, user, requestClass, tenant, length }: SentRequest): number {
  let hash =
    Math.imul((timeNs % TWO_32) | 0, 0x9e3779b1) ^ Math.imul(Math.floor(timeNs / TWO_32), 0x85ebca6b);
  hash = Math.imul(hash ^ model, 0xc2b2ae35) ^ Math.imul((sloNs % TWO_32) | 0, 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 15), 0x9e3779b1) ^ user;
  hash = Math.imul(hash ^ (hash >>> 13), 0x85ebca6b) ^ length ^ (requestClass << 24) ^ (tenant << 16);
  return hash >>> 0;
}
