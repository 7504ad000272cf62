import type { TimeFormat } from './read-time.js';

/** Where the facts of a request are: names of fields, most likely first. */
export interface Fields {
  readonly time: readonly string[];
  readonly timeFormat?: TimeFormat;
  /** Fields with a name or an address of a model. */
  readonly model: readonly string[];
  /** Name of the only model of a log without one. */
  readonly onlyModel?: string;
  /** Time that a request took, where its `time` is that of its end. */
  readonly took?: { readonly field: string; readonly unit: 's' | 'ms' };
  readonly length?: readonly string[];
  /** Fields with SLOs in ms. */
  readonly slo?: readonly string[];
  readonly class?: readonly string[];
  readonly tenant?: readonly string[];
  /** Entries that are no request, by the text of a field. */
  readonly none?: { readonly field: string; readonly text: RegExp };
}

/** A log that is known by name. */
export interface Preset extends Fields {
  /** Source of the layout, for people. */
  readonly about: string;
  /** Lines of text; its groups are the fields. Absent: it is a table or JSON. */
  readonly pattern?: RegExp;
  /** Fields by which a table or JSON is recognized. */
  readonly sign?: readonly string[];
}

/** Usual names of fields that hold paths. */
export const PATHS = [
  ...'path request_path request_uri uri url request x-envoy-original-path'.split(' '),
  ...'httpRequest.requestUrl url.path url.full http.target http.url'.split(' '),
];

const TIMES = [
  ...'timestamp time @timestamp start_time startTime ts datetime date time_iso8601 time_local msec'.split(
    ' ',
  ),
  ...'TIMESTAMP Timestamp arrived_at arrival_time arrival created_at ns'.split(' '),
];

/** Usual names of fields. */
export const USUAL: Fields = {
  time: TIMES,
  model: ['model', 'model_name', 'modelName', 'model_id', 'Model', 'function', 'endpoint', ...PATHS],
  length: ['length', 'input_length', 'tokens', 'input_tokens', 'prompt_tokens'],
  class: ['class', 'priority_class'],
  tenant: ['tenant', 'tenant_id'],
};

/** A request that is none, such as a port scan, has no path. */
const METHOD_AND_PATH = '"(?:(?<method>[A-Z]+) (?<path>\\S+)[^"]*|[^"]*)"';

export const PRESETS: Readonly<Record<string, Preset>> = {
  nginx: {
    about: 'nginx, log_format combined, optionally followed by $request_time; times are of answers',
    pattern: new RegExp(
      `^[^[]* \\[(?<time>\\d[^\\]]+)\\] ${METHOD_AND_PATH} (?<status>\\d{3}) \\S+(?:.*? (?:rt=|request_time=)?(?<took>\\d+\\.\\d{3})(?= |$))?`,
    ),
    time: ['time', 'time_iso8601', 'time_local', 'msec'],
    model: PATHS,
    took: { field: 'took', unit: 's' },
  },
  envoy: {
    about: 'Envoy and Istio, default text format or JSON with start_time and path',
    pattern: new RegExp(`^\\[(?<time>\\d{4}-[^\\]]+)\\] ${METHOD_AND_PATH} (?<status>\\d+) `),
    time: ['time', 'start_time'],
    model: PATHS,
  },
  haproxy: {
    about: 'HAProxy, option httplog',
    pattern: new RegExp(
      `\\[(?<time>\\d\\d?\\/[A-Z][a-z]{2}\\/\\d{4}:[\\d:.]+)\\] \\S+ \\S+ (?:\\S+ )?[-+\\d/]+ +(?<status>-?\\d+) [^"]*${METHOD_AND_PATH}`,
    ),
    time: ['time'],
    model: PATHS,
  },
  triton: {
    about: 'trace file of Triton (--trace-config triton,file=…); times are since the start of the machine',
    time: ['ns'],
    timeFormat: 'ns',
    model: ['model_name'],
    sign: ['model_name', 'ns'],
  },
  kserve: {
    about: "KServe's inference logger, a JSON CloudEvent per line",
    time: ['time'],
    model: ['inferenceservicename', 'extensions.inferenceservicename'],
    none: { field: 'type', text: /\.response$/ },
    sign: ['inferenceservicename'],
  },
  otlp: {
    about: "OpenTelemetry spans, OTLP in JSON from a collector's file exporter; a field is an attribute",
    time: ['startTimeUnixNano'],
    timeFormat: 'ns',
    model: ['escapement.model', 'gen_ai.request.model', 'triton.model_name', ...PATHS],
    length: ['escapement.length', 'gen_ai.usage.input_tokens'],
    slo: ['escapement.slo_ms'],
    class: ['escapement.class'],
    tenant: ['escapement.tenant'],
    sign: ['startTimeUnixNano', 'spanId'],
  },
  'azure-2021': {
    about: 'Azure Functions 2021 (Zhang et al., SOSP 2021)',
    time: ['end_timestamp'],
    timeFormat: 's',
    model: ['func'],
    took: { field: 'duration', unit: 's' },
    sign: ['app', 'func', 'end_timestamp', 'duration'],
  },
  'azure-llm': {
    about: 'Azure LLM inference 2023 (Patel et al., ISCA 2024); a length is ContextTokens',
    time: ['TIMESTAMP'],
    model: [],
    onlyModel: 'llm',
    length: ['ContextTokens'],
    sign: ['TIMESTAMP', 'ContextTokens'],
  },
  burstgpt: {
    about: 'BurstGPT (Wang et al., 2024); a length is Request tokens',
    time: ['Timestamp'],
    timeFormat: 's',
    model: ['Model'],
    length: ['Request tokens'],
    sign: ['Timestamp', 'Model', 'Request tokens'],
  },
  mooncake: {
    about: 'Mooncake (Qin et al., FAST 2025), a JSON object per line; a length is input_length',
    time: ['timestamp'],
    timeFormat: 'ms',
    model: [],
    onlyModel: 'llm',
    length: ['input_length'],
    sign: ['timestamp', 'input_length', 'hash_ids'],
  },
  'alibaba-gpu': {
    about: 'Alibaba cluster-trace-gpu-v2023, pods by creation_time (Weng et al., ATC 2023); a model is a qos',
    time: ['creation_time'],
    timeFormat: 's',
    model: ['qos'],
    sign: ['creation_time', 'qos', 'gpu_spec'],
  },
  vidur: {
    about: 'Vidur (Agrawal et al., MLSys 2024); a length is num_prefill_tokens',
    time: ['arrived_at'],
    timeFormat: 's',
    model: [],
    onlyModel: 'llm',
    length: ['num_prefill_tokens'],
    sign: ['arrived_at', 'num_prefill_tokens'],
  },
};

/** Name of the layout of a log with these fields; null: unknown. */
export function presetOf(fields: readonly string[]): string | null {
  const names = Object.keys(PRESETS);
  return names.find((name) => PRESETS[name]!.sign?.every((field) => fields.includes(field))) ?? null;
}

/** Model of a request by the path of its call: Open Inference Protocol, TensorFlow Serving and KServe v1. */
const CALL =
  /\/v\d\/models\/([^/:?\s]+)(?:\/versions\/[^/:?\s]+)?(?:\/(?:infer|generate|generate_stream)\b|:(?:predict|classify|regress|explain)\b)/;

/** Name of the model that a path calls; null: it calls none. */
export function modelOfPath(path: string): string | null {
  const name = CALL.exec(path)?.[1];
  if (name === undefined) return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
