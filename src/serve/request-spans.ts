import {
  type Attributes,
  createNoopMeter,
  DiagLogLevel,
  diag,
  type HrTime,
  type Meter,
  type MeterProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { getNumberFromEnv, getStringFromEnv, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Registry } from 'prom-client';
import { invariant } from '../base/invariant.js';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { type Action, LOAD, STATUS_OK } from '../core/action.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../core/request.js';
import type { EventLog } from '../live/observe/event-log.js';
import { readOnScrape } from '../live/observe/telemetry/metrics.js';
import { CAUSES, CauseFinder } from '../record/causes.js';
import type { Assembly, ClusterObserver } from './cluster.js';
import type { ServerOptions } from './server-options.js';

/** Spans per batch: the scheduling thread turns one into JSON in a fraction of a millisecond. */
const BATCH_SPANS = 64;
const USUAL_SAMPLE = 0.01;
/** Change of the clocks' difference, ms, from which the wall clock was set: it is read in whole milliseconds. */
const CLOCK_SET_MS = 2;

/**
 * Spans of requests, sent to a collector of OpenTelemetry by its SDK: one for each sampled request, and in it those of its
 * stages. The SDK drops spans while its queue is full, and does not keep a request waiting.
 */
export class RequestSpans implements ClusterObserver {
  readonly run = {
    answered: (...all: Parameters<RequestSpans['answered']>) => this.answered(...all),
    cancelled: (requests: RequestTable, slot: number, nowNs: number, copies: number) =>
      this.answered(requests, slot, OUTCOME_CANCELLED, nowNs, copies, null),
    completed: (action: Action, nowNs: number, _queued: number, copies: number) =>
      this.completed(action, nowNs, copies),
  };
  readonly events = { traced: (id: number, traceparent: string) => void this.parents.set(id, traceparent) };
  private readonly provider: BasicTracerProvider;
  private readonly tracer: Tracer;
  private readonly causes: CauseFinder;
  /** By unanswered request. */
  private readonly parents = new Map<number, string>();
  /** By model: its last LOAD. */
  private readonly loads: Pick<Action, 'gpu' | 'beginNs' | 'endNs'>[] = [];
  /** Unix time at which the controller's clock began. */
  private originMs = 0;

  constructor(
    private readonly assembly: Assembly,
    private readonly options: Pick<ServerOptions, 'otlp' | 'world' | 'serverVersion'> & {
      readonly events: EventLog;
      readonly registry: Registry;
    },
  ) {
    const { otlp, serverVersion: version, events, registry } = options;
    invariant(otlp !== undefined, 'spans have a collector');
    const say = (what: string) => events.say('warn', {}, `spans for ${otlp.url}: ${what}`, 'spans');
    diag.setLogger(
      { error: say, warn: say, info: () => {}, debug: () => {}, verbose: () => {} },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    setGlobalErrorHandler((error) => say(reasonOf(error)));
    // The SDK passes all of them on; its type has only some.
    const queue = {
      maxExportBatchSize: getNumberFromEnv('OTEL_BSP_MAX_EXPORT_BATCH_SIZE') ?? BATCH_SPANS,
      selfObsMeterProvider: spanCounts(registry),
    };
    const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url: String(otlp.url) }), queue);
    const usual = getStringFromEnv('OTEL_TRACES_SAMPLER') === undefined ? USUAL_SAMPLE : undefined;
    const sample = otlp.sample ?? usual;
    const service = resourceFromAttributes({ 'service.name': 'escapement', 'service.version': version });
    this.provider = new BasicTracerProvider({
      resource: defaultResource()
        .merge(service)
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [processor],
      ...(sample === undefined
        ? {}
        : { sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sample) }) }),
    });
    this.tracer = this.provider.getTracer('escapement', version);
    this.causes = new CauseFinder(assembly.cluster.spec.models);
  }

  /** Flushes the queue, for at most OTEL_EXPORTER_OTLP_TIMEOUT. */
  async ended(): Promise<void> {
    await this.provider.shutdown().catch(() => {});
  }

  private completed(action: Action, nowNs: number, copies: number): void {
    this.causes.completed(action, nowNs, copies);
    const { kind, status, model, gpu, beginNs, endNs } = action;
    if (kind === LOAD && status === STATUS_OK) this.loads[model] = { gpu, beginNs, endNs };
  }

  private answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    const { tracer, parents } = this;
    const id = requests.id[slot];
    const model = requests.model[slot];
    const arrivalNs = requests.arrivalNs[slot];
    const parent = parents.get(id);
    if (parent !== undefined) parents.delete(id);
    this.followClock();
    const root = tracer.startSpan(
      `infer ${this.assembly.cluster.spec.models[model].name}`,
      { kind: SpanKind.SERVER, startTime: this.unixTime(arrivalNs) },
      parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(parent)),
    );
    if (!root.isRecording()) return;
    const cause = CAUSES[this.causes.indexOf(requests, slot, outcome, nowNs, copies)];
    root.setAttributes(this.attributesOf(requests, slot, outcome, nowNs, action));
    if (outcome !== OUTCOME_CANCELLED && cause !== undefined) root.setAttribute('escapement.cause', cause);
    const isFailed = outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE && outcome !== OUTCOME_CANCELLED;
    if (isFailed) root.setStatus({ code: SpanStatusCode.ERROR, message: cause });
    const within = trace.setSpan(ROOT_CONTEXT, root);
    const stage = (name: string, fromNs: number, toNs: number, attributes: Attributes = {}) =>
      tracer
        .startSpan(name, { startTime: this.unixTime(fromNs), attributes }, within)
        .end(this.unixTime(Math.max(fromNs, toNs)));
    const beginNs = Math.max(arrivalNs, action?.beginNs ?? nowNs);
    stage('queue', arrivalNs, beginNs);
    const load = this.loads[model];
    if (load !== undefined && load.endNs > arrivalNs)
      stage('load', load.beginNs, load.endNs, { 'escapement.gpu': load.gpu });
    if (action !== null) {
      stage('exec', beginNs, action.endNs);
      stage('answer', action.endNs, nowNs);
    }
    root.end(this.unixTime(nowNs));
  }

  private attributesOf(
    { id, model, arrivalNs, sloNs, requestClass, tenant, length, arrivalCopies }: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
  ): Attributes {
    const { cluster, fleet, settings } = this.assembly;
    const slackNs = arrivalNs[slot] + sloNs[slot] - nowNs;
    const served: Attributes =
      action === null
        ? {}
        : {
            'escapement.action': action.id,
            'escapement.batch_size': action.batchSize,
            'escapement.gpu': action.gpu,
            'escapement.gpu_kind': fleet.gpus.kindOf(action.gpu),
            'escapement.worker': fleet.gpus.nameOf(action.gpu),
          };
    // Those that are undefined are left out.
    return {
      'escapement.request': id[slot],
      'escapement.model': cluster.spec.models[model[slot]].name,
      'escapement.outcome': OUTCOME_NAMES[outcome],
      'escapement.slo_ms': sloNs[slot] / NS_PER_MS,
      'escapement.slack_ms': slackNs / NS_PER_MS,
      'escapement.cold_start': arrivalCopies[slot] === 0,
      'escapement.length': length[slot] || undefined,
      'escapement.class': settings.classes?.[requestClass[slot]]?.name,
      'escapement.tenant': settings.tenants?.list[tenant[slot]]?.name,
      ...served,
    };
  }

  /** Wall-clock time of a time of the controller. */
  private unixTime(ns: number): HrTime {
    const sinceSecondNs = (this.originMs % 1000) * NS_PER_MS + Math.round(ns);
    return [
      Math.floor(this.originMs / 1000) + Math.floor(sinceSecondNs / NS_PER_S),
      sinceSecondNs % NS_PER_S,
    ];
  }

  private followClock(): void {
    const originMs = Math.round(this.options.world.unixMs() - this.assembly.clock.nowNs() / NS_PER_MS);
    if (Math.abs(originMs - this.originMs) > CLOCK_SET_MS) this.originMs = originMs;
  }
}

/** The span that a valid `traceparent` names. */
function contextOf(traceparent: string) {
  const [, traceId, spanId, flags] = traceparent.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || error.name;
}

/** Counts spans by result, as the SDK reports it. */
function spanCounts(registry: Registry): MeterProvider {
  const counts = new Map<string, number>();
  readOnScrape(registry, 'escapement_otlp_spans_total', () =>
    [...counts].map(([result, count]) => [[result], count] as const),
  );
  const add = (spans: number, { 'error.type': error }: Attributes = {}) => {
    const result = error === undefined ? 'sent' : error === 'queue_full' ? 'dropped' : 'failed';
    counts.set(result, (counts.get(result) ?? 0) + spans);
  };
  const meter: Meter = Object.create(createNoopMeter());
  meter.createCounter = () => ({ add });
  return { getMeter: () => meter };
}
