import type { JsonEntry } from './entry.js';

type JsonObject = Readonly<Record<string, unknown>>;

/** Entries of a JSON document of a known kind; null: unknown. */
export function entriesOf(value: unknown): readonly JsonEntry[] | null {
  if (Array.isArray(value)) {
    const objects = objectsIn(value);
    const isTriton = objects.some((each) => Array.isArray(each.timestamps));
    return (isTriton ? tritonRequests(objects) : objects).map((fields) => ({ fields }));
  }
  const { data, resourceSpans } = (value ?? {}) as { data?: { result?: unknown }; resourceSpans?: unknown };
  if (Array.isArray(resourceSpans)) return objectsIn(resourceSpans).flatMap(spansOf);
  return Array.isArray(data?.result) ? prometheusEntries(data.result) : null;
}

/** Spans of one resource in OTLP. Their fields are their own, their attributes, and those of the resource. */
function spansOf({ resource, scopeSpans }: JsonObject): JsonEntry[] {
  const common = attributesOf(resource);
  return objectsIn(scopeSpans)
    .flatMap(({ spans }) => objectsIn(spans))
    .map((span) => ({ fields: { ...common, ...attributesOf(span), ...span }, isSpan: true }));
}

function attributesOf(owner: unknown): JsonObject {
  const attributes = objectsIn((owner as { attributes?: unknown } | undefined)?.attributes);
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value ?? {})[0]]));
}

/** Times at which a traced request begins, the first that there is. */
const BEGINS = ['HTTP_RECV_START', 'GRPC_WAITREAD_END', 'REQUEST_START', 'QUEUE_START'];

/**
 * Trace file of Triton (--trace-config triton,file=…): model and timestamps of a request lie in one object or in
 * several with its id. Requests of an ensemble's steps have a parent, and are left out.
 */
function tritonRequests(objects: readonly JsonObject[]): JsonObject[] {
  const byId = new Map<unknown, { model?: unknown; begins: Map<string, unknown>; isStep: boolean }>();
  for (const { id, model_name: model, parent_id: parent, timestamps } of objects) {
    const request = byId.get(id) ?? { begins: new Map<string, unknown>(), isStep: false };
    byId.set(id, request);
    if (model !== undefined) request.model = model;
    if (typeof parent === 'number' && parent > 0) request.isStep = true;
    for (const { name, ns } of objectsIn(timestamps))
      request.begins.set(String(name).toUpperCase().replaceAll(' ', '_'), ns);
  }
  return [...byId.values()]
    .filter(({ isStep }) => !isStep)
    .map(({ model, begins }) => ({
      model_name: model,
      ns: BEGINS.map((name) => begins.get(name)).find(Boolean),
    }));
}

/** Range result of Prometheus: rates per second by series; each stands for the step that ends at its time. */
function prometheusEntries(series: readonly unknown[]): JsonEntry[] {
  const rates = objectsIn(series).map(({ metric, values }) => ({
    metric: metric as JsonObject,
    values: (Array.isArray(values) ? values : []).filter(Array.isArray).map((pair) => pair.map(Number)),
  }));
  const times = [...new Set(rates.flatMap(({ values }) => values.map(([time]) => time!)))].sort(
    (a, b) => a - b,
  );
  const stepS = Math.min(...times.slice(1).map((time, i) => time - times[i]!));
  // A single time does not say how long its step is.
  if (!(stepS > 0 && stepS < Number.POSITIVE_INFINITY)) return [];
  return rates.flatMap(({ metric, values }) => {
    let owed = 0;
    return values.map(([time, rate]) => {
      // The rest of a request in a step is added to the next, so that slow series lose nothing.
      owed += Number.isFinite(rate) ? Math.max(0, rate!) * stepS : 0;
      const count = Math.floor(owed + 1e-9);
      owed -= count;
      return { fields: { ...metric, time: time! - stepS }, requests: { count, withinS: stepS } };
    });
  });
}

function objectsIn(value: unknown): JsonObject[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return list.filter((each): each is JsonObject => typeof each === 'object' && each !== null);
}
