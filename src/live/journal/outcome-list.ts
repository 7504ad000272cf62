import type { Action } from '../../core/action.js';
import type { Controller } from '../../core/controller.js';
import type { RunObserver } from '../../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../../core/request.js';
import { CAUSES, type Cause, CauseFinder, type FailureCounts } from '../../record/causes.js';
import type { JournalHeader } from './journal-header.js';
import type { ReplayWatcher } from './replay.js';

/** A request that was not answered within its SLO. Times in ns. */
interface MissedRequest {
  readonly request: number;
  readonly model: string;
  /** Absent: the run has no classes. */
  readonly class?: string;
  readonly tenant?: string;
  readonly outcome: string;
  readonly cause: Cause;
  readonly arrivalNs: number;
  readonly sloNs: number;
  /** Time from its arrival until the scheduler had it, spent receiving and decoding its body. */
  readonly decodingNs: number;
  readonly latencyNs: number;
}

/** Outcomes of a tenant's requests. */
interface TenantOutcomes {
  readonly name: string;
  readonly requests: number;
  readonly ok: number;
  readonly failures: FailureCounts;
}

/** Filter of remembered requests, by name; absent: all. */
interface WantedRequests {
  readonly model?: string | undefined;
  readonly class?: string | undefined;
  readonly tenant?: string | undefined;
  readonly cause?: Cause | undefined;
}

/** Counts the outcomes of a replay, and remembers the first requests that were not ok, as both observer and watcher. */
export class OutcomeList implements RunObserver, ReplayWatcher {
  /** By outcome. */
  readonly counts: number[] = OUTCOME_NAMES.map(() => 0);
  readonly missed: MissedRequest[] = [];
  /** Models with answered requests. */
  readonly models = new Set<string>();
  /** Number of requests that were not ok and match the filter. */
  missedCount = 0;
  /** By tenant: requests, those that were ok, and the others by cause. */
  private readonly ofTenants: { requests: number; ok: number; causes: number[] }[] = [];
  private readonly causes: number[] = CAUSES.map(() => 0);
  /** By slot: request, and time at which the policy first got it. */
  private readonly taken: { request: number; atNs: number }[] = [];
  private header!: JournalHeader;
  private controller!: Controller;
  private finder!: CauseFinder;

  /** `limit`: number of requests to remember. */
  constructor(
    private readonly limit: number,
    private readonly wanted: WantedRequests = {},
  ) {}

  /** Reasons why requests were not answered within their SLO. */
  get failures(): FailureCounts {
    return byCause(this.causes);
  }

  /** Empty: the run has no tenants. */
  get tenants(): TenantOutcomes[] {
    return this.ofTenants.map(({ requests, ok, causes }, i) => ({
      name: this.header.tenants![i].name,
      requests,
      ok,
      failures: byCause(causes),
    }));
  }

  started(header: JournalHeader, controller: Controller): void {
    this.header = header;
    this.controller = controller;
    this.finder = new CauseFinder(controller.cluster.models);
    for (const _ of header.tenants ?? [])
      this.ofTenants.push({ requests: 0, ok: 0, causes: CAUSES.map(() => 0) });
  }

  admitting(slot: number, nowNs: number): void {
    const request = this.controller.requests.id[slot];
    if (this.taken[slot]?.request !== request) this.taken[slot] = { request, atNs: nowNs };
  }

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number, copies: number): void {
    // Requests of steps are part of one that counts.
    if (requests.step[slot] > 0) return;
    const index = this.finder.indexOf(requests, slot, outcome, nowNs, copies);
    const model = this.controller.nameOf(requests.model[slot]);
    this.counts[outcome]++;
    this.models.add(model);
    const tenant = this.ofTenants[requests.tenant[slot]];
    if (tenant !== undefined) {
      tenant.requests++;
      if (outcome === OUTCOME_OK) tenant.ok++;
      else tenant.causes[index]++;
    }
    if (outcome === OUTCOME_OK) return;
    this.causes[index]++;
    const one = this.missedOne(requests, slot, outcome, nowNs, CAUSES[index]);
    if (!this.isWanted(one)) return;
    this.missedCount++;
    if (this.missed.length < this.limit) this.missed.push(one);
  }

  cancelled({ step }: RequestTable, slot: number): void {
    if (step[slot] <= 0) this.counts[OUTCOME_CANCELLED]++;
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    this.finder.completed(action, nowNs, copies);
  }

  private missedOne(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    cause: Cause,
  ): MissedRequest {
    const { classes, tenants } = this.header;
    const arrivalNs = requests.arrivalNs[slot];
    const taken = this.taken[slot];
    // The policy does not see requests refused by admission or a limit, which are answered on arrival.
    const takenNs = taken?.request === requests.id[slot] ? taken.atNs : nowNs;
    return {
      request: requests.id[slot],
      model: this.controller.nameOf(requests.model[slot]),
      ...(classes === undefined ? {} : { class: classes[requests.requestClass[slot]].name }),
      ...(tenants === undefined ? {} : { tenant: tenants[requests.tenant[slot]].name }),
      outcome: OUTCOME_NAMES[outcome],
      cause,
      arrivalNs,
      sloNs: requests.sloNs[slot],
      decodingNs: takenNs - arrivalNs,
      latencyNs: nowNs - arrivalNs,
    };
  }

  private isWanted(one: MissedRequest): boolean {
    const { model, class: itsClass, tenant, cause } = this.wanted;
    return (
      one.model === (model ?? one.model) &&
      one.class === (itsClass ?? one.class) &&
      one.tenant === (tenant ?? one.tenant) &&
      one.cause === (cause ?? one.cause)
    );
  }
}

function byCause(counts: readonly number[]): FailureCounts {
  return Object.fromEntries(CAUSES.map((cause, i) => [cause, counts[i]])) as Record<Cause, number>;
}
