/**
 * Specification of a workload, in canonical units (integer ns, requests per second). The experiment file has the same
 * in readable form; `src/config/schema.ts` translates.
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

/** Lengths of inputs: tokens, pixels, or any other unit that the model counts. */
export type LengthSpec =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly from: number; readonly to: number }
  | { readonly kind: 'lognormal'; readonly median: number; readonly sigma: number; readonly max: number }
  | { readonly kind: 'list'; readonly values: readonly number[] }
  | TokensSpec
  | ColumnSpec;

/** Token columns of a trace; more than `max` count as `max`. */
export interface TokensSpec {
  readonly kind: 'tokens';
  readonly of: 'context' | 'generated' | 'both';
  readonly max?: number;
}

/** Length column of an arrivals file; more than `max` count as `max`. */
export interface ColumnSpec {
  readonly kind: 'column';
  readonly max?: number;
}

export interface CommonSpec {
  /** Name of its users in results; absent: the kind. */
  readonly name?: string;
  /** SLO of these requests; overrides the SLO of the run. */
  readonly sloNs?: number;
  /** Name of the class of its requests; absent: the first of the run. */
  readonly class?: string;
  /** Name of the tenant that sends them; absent: the first of the run. */
  readonly tenant?: string;
  /** Models that it addresses: names or patterns with `*`; absent: all. */
  readonly models?: readonly string[];
  /** Lengths of inputs, for models that take several. */
  readonly length?: LengthSpec;
  /** Shifts the whole workload to start this long after the run. */
  readonly startNs?: number;
  /** Ends the workload this long after its own start; required for generators, optional for files. */
  readonly durationNs?: number;
  /** Multiplies the requests of some models: factors by name or pattern with `*`; absent: of none. */
  readonly boost?: Readonly<Record<string, number>>;
}

/** Distribution of requests over models. */
export type Popularity = { readonly kind: 'uniform' } | { readonly kind: 'zipf'; readonly s: number };

interface GeneratedSpec extends CommonSpec {
  readonly durationNs: number;
  readonly popularity: Popularity;
}

/** Rows of `arrival_ns,model_id,slo_ns`, sorted; model_id is an index or a model's name. */
export interface ArrivalsSpec extends CommonSpec {
  readonly kind: 'arrivals';
  readonly path: string;
  /** True if the run or the workload sets an SLO that replaces the column's. */
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

/** Poisson alternating between `onRateRps` for `onNs` and `offRateRps` for `offNs`. */
export interface OnOffSpec extends GeneratedSpec {
  readonly kind: 'on-off';
  readonly onRateRps: number;
  readonly offRateRps: number;
  readonly onNs: number;
  readonly offNs: number;
}

/** Poisson with a rate that changes linearly over the duration. */
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

/** Assignment of functions to models: blocks is ⌊M·i/F⌋ over functions by falling total, stripe is i mod M. */
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
  /** Virtual length of one minute of the trace: 60 s unless compressed or stretched. */
  readonly intervalNs: number;
}

/** Azure Functions 2021: one row per invocation, arrival = end − duration. */
export interface Azure2021Spec extends TraceSpec {
  readonly kind: 'azure-2021';
  /** Divides all times: 2 plays the trace twice as fast. */
  readonly speed: number;
}

/** Azure LLM inference 2023: exact timestamps; rows are assigned to models by popularity. */
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
  /** Virtual length of one minute of the trace; does not affect the mean rate. */
  readonly intervalNs: number;
}
