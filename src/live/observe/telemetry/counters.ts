import { Counter, Histogram, type Registry } from 'prom-client';
import { NS_PER_S } from '../../../base/units.js';
import { newApiErrorCounters, readApiErrors } from '../../frontend/api-error.js';
import { BATCH_BUCKETS } from './buckets.js';
import { Children, type ModelLabels, type NameLabels } from './labels.js';
import { STAGE_COPY_IN, STAGE_COPY_OUT, STAGE_EXEC, STAGE_NAMES, STAGE_QUEUE } from './stage-averages.js';

const STAGES = STAGE_NAMES.length;

/**
 * Time of executed requests by model and stage, INFER batch sizes, and requests with invalid inputs. Models are
 * identified by label.
 */
export class StageCounters {
  /** By label and stage. */
  private readonly seconds: Children<Counter.Internal>;
  private readonly batchSize: Children<Histogram.Internal<string>>;
  private readonly invalidInputs: Children<Counter.Internal>;

  constructor(registry: Registry, labels: ModelLabels) {
    const registers = [registry];
    const seconds = new Counter({
      name: 'escapement_request_stage_seconds_total',
      help: 'Time that executed requests spent in a stage; divide by escapement_batch_size_sum',
      labelNames: ['model', 'stage'],
      registers,
    });
    this.seconds = new Children((index) =>
      seconds.labels(labels.values[Math.floor(index / STAGES)], STAGE_NAMES[index % STAGES]),
    );
    const batchSize = new Histogram({
      name: 'escapement_batch_size',
      help: 'Requests per INFER',
      labelNames: ['model'],
      buckets: BATCH_BUCKETS,
      registers,
    });
    this.batchSize = new Children((label) => batchSize.labels(labels.values[label]));
    const invalidInputs = new Counter({
      name: 'escapement_invalid_inputs_total',
      help: 'Requests whose inputs the model cannot compute',
      labelNames: ['model'],
      registers,
    });
    this.invalidInputs = new Children((label) => invalidInputs.labels(labels.values[label]));
  }

  /** Records how long an executed request waited. */
  waited(label: number, queueS: number): void {
    this.seconds.get(label * STAGES + STAGE_QUEUE).inc(queueS);
  }

  /** Records a request whose inputs the model cannot compute. */
  notComputed(label: number): void {
    this.invalidInputs.get(label).inc();
  }

  /** Records an INFER of `count` requests: each of them went through its stages. */
  ran(
    label: number,
    count: number,
    execNs: number,
    { copyInNs, copyOutNs }: { readonly copyInNs: number; readonly copyOutNs: number },
  ): void {
    const first = label * STAGES;
    this.batchSize.get(label).observe(count);
    this.seconds.get(first + STAGE_COPY_IN).inc((copyInNs * count) / NS_PER_S);
    this.seconds.get(first + STAGE_EXEC).inc((execNs * count) / NS_PER_S);
    this.seconds.get(first + STAGE_COPY_OUT).inc((copyOutNs * count) / NS_PER_S);
  }
}

/** Counts workers that register themselves and leave; computed on scrape. */
export function registerJoining(
  registry: Registry,
  counts: { readonly joined: number; readonly left: number; readonly lost: number },
): void {
  const counter = (name: string, help: string, value: () => number) =>
    new Counter({
      ...{ name, help, registers: [registry] },
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  counter('escapement_workers_joined_total', 'Workers that have registered and joined', () => counts.joined);
  counter('escapement_workers_left_total', 'Workers that had joined and have left', () => counts.left);
  counter(
    'escapement_workers_lost_total',
    'Workers that left without notice: killed, crashed or cut off',
    () => counts.lost,
  );
}

/**
 * Counts requests refused by the frontends; computed on scrape. Each series without a model exists from the start, so
 * that its first rise shows. Returns the counters for the frontends.
 */
export function registerApiErrors(registry: Registry, labels: NameLabels): SharedArrayBuffer {
  const counters = newApiErrorCounters();
  new Counter({
    name: 'escapement_refused_total',
    help: 'Inference requests that a frontend refused before the scheduler saw them',
    labelNames: ['transport', 'reason', 'model'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { transport, reason, label, count } of readApiErrors(counters)) {
        const model = label === 0 ? {} : { model: labels.valueOf(label) };
        this.inc({ transport, reason, ...model }, count);
      }
    },
  });
  return counters;
}

/** Counts rejected registrations by reason; computed on scrape. Each series exists from the start. */
export function registerTurnedAway(registry: Registry, counts: Readonly<Record<string, number>>): void {
  new Counter({
    name: 'escapement_registrations_turned_away_total',
    help: 'Registrations of workers that the controller rejected',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(counts)) this.inc({ reason }, count);
    },
  });
}
