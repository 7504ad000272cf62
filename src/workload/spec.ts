/**
 * What a workload is made of, in canonical units (integer ns, requests per second). The experiment
 * file spells the same things for people; `src/config/schema.ts` translates.
 */
export type WorkloadSpec =
  | ArrivalsSpec
  | RateSpec
  | GammaSpec
  | OnOffSpec
  | RampSpec
  | ClosedLoopSpec
  | Azure2019Spec
  | Azure2021Spec
  | AzureLlmSpec
  | AzureLikeSpec;

/** How long inputs are: tokens, pixels, whatever the model counts. */
export type LengthSpec =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly from: number; readonly to: number }
  | { readonly kind: 'lognormal'; readonly median: number; readonly sigma: number; readonly max: number }
  | { readonly kind: 'list'; readonly values: readonly number[] }
  | TokensSpec
  | ColumnSpec;

/** The token columns of a trace; more than `max` count as `max`. */
export interface TokensSpec {
  readonly kind: 'tokens';
  readonly of: 'context' | 'generated' | 'both';
  readonly max?: number;
}

/** The length column of an arrivals file; more than `max` count as `max`. */
export interface ColumnSpec {
  readonly kind: 'column';
  readonly max?: number;
}

export interface CommonSpec {
  /** What its users are called in results; the kind when absent. */
  readonly name?: string;
  /** SLO of these requests; overrides the SLO of the run. */
  readonly sloNs?: number;
  /** Name of the class of its requests; the first one of the run when absent. */
  readonly class?: string;
  /** Name of the tenant that sends them; the first one of the run when absent. */
  readonly tenant?: string;
  /** Which models it addresses: names or patterns with `*`; all when absent. */
  readonly models?: readonly string[];
  /** How long inputs are, for models that take several lengths. */
  readonly length?: LengthSpec;
  /** Shifts the whole workload to begin this long after the start of the run. */
  readonly startNs?: number;
  /** Cuts the workload off this long after its own begin; generators need it, files need not. */
  readonly durationNs?: number;
}

/** How requests spread over models. */
export type Popularity = { readonly kind: 'uniform' } | { readonly kind: 'zipf'; readonly s: number };

interface GeneratedSpec extends CommonSpec {
  readonly durationNs: number;
  readonly popularity: Popularity;
}

/** Rows of `arrival_ns,model_id,slo_ns`, sorted; model_id is an index or a model's name. */
export interface ArrivalsSpec extends CommonSpec {
  readonly kind: 'arrivals';
  readonly path: string;
  /** True where the run or the workload sets an SLO that replaces the column's. */
  readonly overrideSlo: boolean;
  /** Multiplies the number of requests; default 1. */
  readonly scale?: number;
  /** Divides all times; default 1. */
  readonly speed?: number;
}

export interface RateSpec extends GeneratedSpec {
  readonly kind: 'poisson' | 'fixed';
  readonly rateRps: number;
}

/** Gamma inter-arrival times: `cv` = standard deviation / mean of the gaps; 1 is Poisson. */
export interface GammaSpec extends GeneratedSpec {
  readonly kind: 'gamma';
  readonly rateRps: number;
  readonly cv: number;
}

/** Poisson at `onRateRps` for `onNs`, then at `offRateRps` for `offNs`, and again. */
export interface OnOffSpec extends GeneratedSpec {
  readonly kind: 'on-off';
  readonly onRateRps: number;
  readonly offRateRps: number;
  readonly onNs: number;
  readonly offNs: number;
}

/** Poisson whose rate moves in a straight line over the duration. */
export interface RampSpec extends GeneratedSpec {
  readonly kind: 'ramp';
  readonly fromRateRps: number;
  readonly toRateRps: number;
}

/**
 * Each client keeps `concurrency` requests outstanding: it sends the next one `thinkNs`, at least 1 µs, after
 * an answer. Client i drives model i mod M, or a model drawn by popularity once at the start.
 */
export interface ClosedLoopSpec extends CommonSpec {
  readonly kind: 'closed-loop';
  readonly durationNs: number;
  readonly clients: number;
  readonly concurrency: number;
  readonly thinkNs: number;
  readonly popularity?: Popularity;
}

/** How functions of a trace drive models: blocks is ⌊M·i/F⌋ over functions by falling total, stripe is i mod M. */
export type Assignment = 'blocks' | 'stripe';

interface TraceSpec extends CommonSpec {
  readonly path: string;
  /** Multiplies the number of requests. */
  readonly scale: number;
  readonly assign: Assignment;
}

/** Azure Functions 2019: invocations per function and minute. */
export interface Azure2019Spec extends TraceSpec {
  readonly kind: 'azure-2019';
  /** Half-open slice of minutes counted from the first column of the file. */
  readonly minutes?: readonly [number, number];
  /** Virtual time that one minute of the trace takes: 60 s unless compressed or stretched. */
  readonly intervalNs: number;
}

/** Azure Functions 2021: one row an invocation, arrival = end − duration. */
export interface Azure2021Spec extends TraceSpec {
  readonly kind: 'azure-2021';
  /** Divides all times: 2 plays the trace twice as fast. */
  readonly speed: number;
}

/** Azure LLM inference 2023: exact timestamps; rows are dealt to models by popularity. */
export interface AzureLlmSpec extends CommonSpec {
  readonly kind: 'azure-llm';
  readonly path: string;
  readonly scale: number;
  readonly speed: number;
  readonly popularity: Popularity;
}

/** Synthetic minutes with the statistics of the Azure Functions 2019 day. */
export interface AzureLikeSpec extends CommonSpec {
  readonly kind: 'azure-like';
  readonly functions: number;
  readonly minutes: number;
  /** Mean rate over the whole trace as it is played, before `scale`. */
  readonly rateRps: number;
  readonly scale: number;
  readonly assign: Assignment;
  /** Virtual time that one minute of the trace takes; the mean rate does not depend on it. */
  readonly intervalNs: number;
}
