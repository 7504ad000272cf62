type JsonEntry = Readonly<Record<string, unknown>>;

/** Fields of an entry that stands for many requests: how many, and the seconds from its time within which they come. */
export const COUNT = '#count';
export const WITHIN_S = '#withinS';

/** Entries of a JSON document of a known kind; null: unknown. */
export function entriesOf(value: unknown): readonly JsonEntry[] | null {
  if (Array.isArray(value)) {
    const objects = value.filter((each): each is JsonEntry => typeof each === 'object' && each !== null);
    return objects.some((each) => Array.isArray(each.timestamps)) ? tritonEntries(objects) : objects;
  }
  const series = (value as PrometheusAnswer)?.data?.result;
  return Array.isArray(series) ? prometheusEntries(series) : null;
}

/** Times at which a traced request begins, the first that there is. */
const BEGINS = ['HTTP_RECV_START', 'GRPC_WAITREAD_END', 'REQUEST_START', 'QUEUE_START'];

/**
 * Trace file of Triton (--trace-config triton,file=…): model and timestamps of a request lie in one object or in
 * several with its id. Requests of an ensemble's steps have a parent, and are left out.
 */
function tritonEntries(objects: readonly JsonEntry[]): JsonEntry[] {
  const byId = new Map<unknown, { model?: unknown; begins: Map<string, unknown>; isStep: boolean }>();
  for (const { id, model_name: model, parent_id: parent, timestamps } of objects) {
    const request = byId.get(id) ?? { begins: new Map<string, unknown>(), isStep: false };
    byId.set(id, request);
    if (model !== undefined) request.model = model;
    if (typeof parent === 'number' && parent > 0) request.isStep = true;
    for (const { name, ns } of (timestamps ?? []) as { name?: unknown; ns?: unknown }[])
      request.begins.set(String(name).toUpperCase().replaceAll(' ', '_'), ns);
  }
  return [...byId.values()]
    .filter(({ isStep }) => !isStep)
    .map(({ model, begins }) => ({
      model_name: model,
      ns: BEGINS.map((name) => begins.get(name)).find(Boolean),
    }));
}

interface PrometheusAnswer {
  readonly data?: { readonly result?: unknown };
}

/** Range result of Prometheus: rates per second by series; each stands for the step that ends at its time. */
function prometheusEntries(series: readonly unknown[]): JsonEntry[] | null {
  const known = series as readonly {
    readonly metric?: Readonly<Record<string, string>>;
    readonly values?: readonly (readonly [number, string])[];
  }[];
  if (known.some(({ metric, values }) => metric === undefined || !Array.isArray(values))) return null;
  const times = [...new Set(known.flatMap(({ values }) => values!.map(([time]) => time)))].sort(
    (a, b) => a - b,
  );
  const stepS = times.reduce(
    (least, time, i) => (i === 0 ? least : Math.min(least, time - times[i - 1]!)),
    3600,
  );
  return known.flatMap(({ metric, values }) => {
    let owed = 0;
    return values!.map(([time, rate]) => {
      // What a step leaves of a request is added to the next, so that slow series lose nothing.
      owed += Math.max(0, Number(rate)) * stepS || 0;
      const count = Math.floor(owed + 1e-9);
      owed -= count;
      return { ...metric, time: time - stepS, [COUNT]: count, [WITHIN_S]: stepS };
    });
  });
}
