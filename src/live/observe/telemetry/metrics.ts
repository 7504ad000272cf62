import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Upper bounds of buckets, in seconds: answers take milliseconds to seconds. */
const LATENCIES_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Errors of predictions and timers, and steps of the scheduler: good values are far below a millisecond. */
const ERRORS_S = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
];
/** Models have batch sizes that are powers of two. */
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128];

/** Bounds of histograms by what they hold. */
const BUCKETS: Readonly<Record<string, number[]>> = { latency: LATENCIES_S, error: ERRORS_S, batch: BATCHES };

/** Every metric of this package: its type, where a word of `BUCKETS` is a histogram; its labels; its help text. */
export const METRICS = {
  escapement_request_latency_seconds:
    'latency {model, outcome} Time from the arrival of a request to its answer',
  escapement_request_queue_seconds:
    'latency {model, outcome} Time from the arrival of a request to the start of its INFER, or to its answer if there was none',
  escapement_request_stage_seconds_total:
    'counter {model, stage} Time that executed requests spent in a stage; divide by escapement_batch_size_sum',
  escapement_batch_size: 'batch {model} Requests per INFER',
  escapement_invalid_inputs_total: 'counter {model} Requests whose inputs the model cannot compute',
  escapement_requests_total: 'counter {outcome} Requests by outcome',
  escapement_class_requests_total:
    'counter {class, outcome} Answered requests by class and outcome; only where the server has some',
  escapement_tenant_requests_total:
    'counter {tenant, outcome} Answered requests by tenant and outcome; only where the server has some',
  escapement_rejected_total:
    'counter {reason, tenant} Requests rejected because their SLO cannot be met (slo), or for the rate or share of their tenant',
  escapement_refused_total:
    'counter {transport, reason, model} Inference requests that a frontend refused before the scheduler saw them',
  escapement_goodput_total: 'counter Requests answered within their SLO',
  escapement_cold_starts_total: 'counter Requests that came when no GPU held their model',
  escapement_actions_total: 'counter {action, status} Results of actions by kind and status',
  escapement_prediction_error_seconds:
    'error {action, direction} How much longer (under) or shorter (over) an action took than predicted',
  escapement_lane_busy_seconds_total:
    'counter {gpu, lane} Time that a lane of a GPU was busy; its rate is the utilization',
  escapement_wakeup_lateness_seconds: 'error Delay of the wake-up timer of the controller',
  escapement_step_seconds: 'error Duration of a scheduler step: processing events, and deciding',
  escapement_worker_up: 'gauge {worker} 1 while the worker takes actions, 0 while it is away',
  escapement_standby: 'gauge 1 while another controller drives the workers, otherwise 0',
  escapement_queued_requests: 'gauge {model} Requests that wait for a model',
  escapement_unanswered_requests: 'gauge Requests that wait or run',
  escapement_gpu_up:
    'gauge {gpu, worker} 1 while the GPU takes actions, 0 while it is away or another controller drives it',
  escapement_gpu_info: 'gauge {gpu, kind} Always 1: its labels say what kind of GPU it is',
  escapement_gpu_memory_bytes:
    'gauge {gpu, part} Memory of the GPU in use: by loaded models (weights), when its threads began (start), by nothing known (unaccounted)',
  escapement_free_pages: 'gauge {gpu} Pages of a weights cache that are free',
  escapement_warm_models: 'gauge {gpu} Models that a GPU holds',
  escapement_model_versions: 'gauge {model, state} Versions of a model that are in a state',
  escapement_workers_joined_total: 'counter Workers that have registered and joined',
  escapement_workers_left_total: 'counter Workers that had joined and have left',
  escapement_workers_lost_total: 'counter Workers that left without notice: killed, crashed or cut off',
  escapement_registrations_turned_away_total:
    'counter {reason} Registrations of workers that the controller rejected',
  escapement_kept_bytes_total:
    'counter Size of the tensors that a worker has kept between the steps of pipelines',
  escapement_gpus_needed: 'gauge {kind} GPUs that the scaler wants, including those in service',
  escapement_gpus_needed_reason: 'gauge {reason} Always 1: its label says why this many GPUs are needed',
  escapement_journal_failed: 'gauge 1 once the journal could not be written any more, otherwise 0',
  escapement_otlp_spans_total:
    'counter {result} Spans of requests: sent, failed to be sent, or dropped because the queue was full',
  escapement_certificate_expiry_timestamp_seconds:
    'gauge {certificate} When the certificate in use expires, in Unix time',
  escapement_certificate_last_reload_successful:
    'gauge {certificate} 1 if the files of the certificate hold what is in use, 0 if they cannot be used',
} as const;
type Name = keyof typeof METRICS;

/** A registry with the metrics of the process itself: CPU, memory, event loop, garbage collection. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Counts, or observes a duration: in the series of a small integer. */
type Count = (index: number, value?: number) => void;

/**
 * Registers a metric that is counted as things happen. `labelsOf`: label values of an integer's series; each is looked up
 * once, since prom-client's own look-up costs more than counting. What a counter has counted it hears on each scrape.
 */
export function counted(
  registry: Registry,
  name: Name,
  labelsOf: (index: number) => readonly string[] = () => [],
): Count {
  const { kind, ...rest } = describe(name);
  const buckets = BUCKETS[kind];
  if (buckets === undefined) {
    const counts: [labels: readonly string[], value: number][] = [];
    readOnScrape(registry, name, () => counts.filter(Boolean));
    return (index, value = 1) => {
      counts[index] ??= [labelsOf(index), 0];
      counts[index][1] += value;
    };
  }
  const histogram = new Histogram<string>({ ...rest, registers: [registry], buckets });
  const series: ReturnType<Histogram['labels']>[] = [];
  return (index, value = 1) => {
    series[index] ??= histogram.labels(named(rest.labelNames, labelsOf(index)));
    series[index].observe(value);
  };
}

/** A series: label values, without any that it lacks at the end, and the value. */
export type Reading = readonly [labels: readonly string[], value: number];

/** Registers a counter or gauge that is computed on each scrape, and free otherwise. Equal labels add up. */
export function readOnScrape(registry: Registry, name: Name, read: () => Iterable<Reading>): void {
  const { kind, ...rest } = describe(name);
  const options = {
    ...{ ...rest, registers: [registry] },
    collect(this: Counter<string> | Gauge<string>) {
      this.reset();
      for (const [values, value] of read()) this.inc(named(rest.labelNames, values), value);
    },
  };
  if (kind === 'counter') new Counter<string>(options);
  else new Gauge<string>(options);
}

function named(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(values.map((value, i) => [names[i], value]));
}

function describe(name: Name) {
  const [, kind, labels = '', help] = /^(\w+) (?:\{(.*)\} )?(.*)$/.exec(METRICS[name]) as string[];
  return { kind, name, help, labelNames: labels === '' ? [] : labels.split(', ') };
}
