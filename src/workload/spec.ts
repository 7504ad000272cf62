/**
 * Specification of a workload, in canonical units (integer ns, requests per second). The experiment file has the same
 * in readable form; `src/config/schema.ts` translates.
 */
export type WorkloadSpec = CommonSpec &
  (
    | ArrivalsSpec
    | ({ readonly kind: 'poisson' | 'fixed'; readonly rateRps: number } & Generated)
    /** Gamma inter-arrival times: `cv` = standard deviation / mean of the gaps; 1 is Poisson. */
    | ({ readonly kind: 'gamma'; readonly rateRps: number; readonly cv: number } & Generated)
    /** Poisson alternating between `onRateRps` for `onNs` and `offRateRps` for `offNs`. */
    | ({ readonly kind: 'on-off' } & Readonly<Record<'onRateRps' | 'offRateRps' | 'onNs' | 'offNs', number>> &
        Generated)
    /** Poisson with a rate that changes linearly over the duration. */
    | ({ readonly kind: 'ramp'; readonly fromRateRps: number; readonly toRateRps: number } & Generated)
    | ClosedLoopSpec
    /** Azure Functions 2019: invocations per function and minute. */
    | ({
        readonly kind: 'azure-2019';
        readonly path: string;
        /** Half-open slice of minutes counted from the first column of the file. */
        readonly minutes?: readonly [number, number];
        /** Virtual length of one minute of the trace: 60 s unless compressed or stretched. */
        readonly intervalNs: number;
      } & OfFunctions)
    /** Azure Functions 2021: one row per invocation, arrival = end − duration. `speed` divides all times. */
    | ({ readonly kind: 'azure-2021'; readonly path: string; readonly speed: number } & OfFunctions)
    /** Azure LLM inference 2023: exact timestamps; rows are assigned to models by popularity. */
    | {
        readonly kind: 'azure-llm';
        readonly path: string;
        readonly scale: number;
        readonly speed: number;
        readonly popularity: Popularity;
      }
    /** Synthetic minutes with the statistics of the Azure Functions 2019 day. */
    | ({
        readonly kind: 'azure-like';
        readonly functions: number;
        readonly minutes: number;
        /** Mean over the whole trace as it is played, before `scale`. */
        readonly rateRps: number;
        /** Virtual length of one minute of the trace; does not affect the mean rate. */
        readonly intervalNs: number;
      } & OfFunctions)
  );

/** Specification of one kind. */
export type SpecOf<Kind extends WorkloadSpec['kind']> = Extract<WorkloadSpec, { readonly kind: Kind }>;

/** Arrivals of a generator, until the end of its duration. */
interface Generated {
  readonly durationNs: number;
  readonly popularity: Popularity;
}

/** Rows of `arrival_ns,model_id,slo_ns`, sorted; model_id is an index or a model's name. */
interface ArrivalsSpec {
  readonly kind: 'arrivals';
  readonly path: string;
  /** True if the run or the workload sets an SLO that replaces the column's. */
  readonly overrideSlo: boolean;
  /** Multiplies the number of requests; default 1. */
  readonly scale?: number;
  /** Divides all times; default 1. */
  readonly speed?: number;
}

/**
 * Each client keeps `concurrency` requests outstanding: it sends the next one `thinkNs`, at least 1 µs, after
 * an answer. Client i drives model i mod M, or a model drawn by popularity once at the start.
 */
interface ClosedLoopSpec {
  readonly kind: 'closed-loop';
  readonly durationNs: number;
  readonly clients: number;
  readonly concurrency: number;
  readonly thinkNs: number;
  readonly popularity?: Popularity;
}

/** Invocations of functions, each of which drives a model. */
interface OfFunctions {
  /** Multiplies the number of requests. */
  readonly scale: number;
  readonly assign: Assignment;
}

/** Assignment of functions to models: blocks is ⌊M·i/F⌋ over functions by falling total, stripe is i mod M. */
export type Assignment = 'blocks' | 'stripe';

/** Distribution of requests over models. */
export type Popularity = { readonly kind: 'uniform' } | { readonly kind: 'zipf'; readonly s: number };

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
