import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { body, keptLog, type Running, serve, simulated, smallModels, until } from './fixtures.js';

const INFER = '/v2/models/model0/infer';
const PATIENT_MS = 20_000;
/** Shorter than an INFER of these models. */
const IMPATIENT_MS = 0.01;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code: number; readonly message?: string };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const accept: Answer = (_request, response) => {
  response.setHeader('content-type', 'application/json').end('{}');
};

/** A collector that keeps what it gets. */
async function collector(answer: Answer = accept) {
  const spans: Span[] = [];
  const resources: unknown[] = [];
  const calls: string[] = [];
  const server = createServer(async (request, response) => {
    expect(request.url).toBe('/v1/traces');
    const call = await text(request);
    calls.push(call);
    const { resourceSpans } = JSON.parse(call) as {
      resourceSpans: { resource: unknown; scopeSpans: { spans: Span[] }[] }[];
    };
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(resource);
      spans.push(...scopeSpans.flatMap((each) => each.spans));
    }
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(end);
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/v1/traces`), spans, resources, calls, end };
}

async function traced(url: URL, sample?: number, environment: Readonly<Record<string, string>> = {}) {
  for (const [name, value] of Object.entries({ OTEL_BSP_SCHEDULE_DELAY: '5', ...environment }))
    vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { log, messages } = keptLog();
  const machine = { devices: simulated(1, 1), models: smallModels(1, 1) };
  return { running: await serve(machine, [], { log, otlp: { url, sample } }), messages };
}

const ask = async ({ http }: Running, sloMs: number, headers = {}) =>
  (await http.post(INFER, body(1, sloMs), headers)).status;

/** Number of spans by what became of them. */
async function counts({ metrics }: Running): Promise<Record<string, number>> {
  const { text } = await metrics.get('/metrics');
  const found = text.matchAll(/^escapement_otlp_spans_total\{result="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, result, count]) => [result, Number(count)]));
}

const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
const timesOf = ({ startTimeUnixNano, endTimeUnixNano }: Span) =>
  [startTimeUnixNano, endTimeUnixNano].map(BigInt);

describe('spans of requests', () => {
  it('have one of each request, and in it those of its stages', async () => {
    const { url, spans, resources } = await collector();
    const beginMs = Date.now();
    const { running } = await traced(url, 1, {
      OTEL_SERVICE_NAME: 'ranker',
      OTEL_RESOURCE_ATTRIBUTES: 'zone=b',
    });
    expect(await ask(running, PATIENT_MS)).toBe(200);
    expect(await ask(running, IMPATIENT_MS)).not.toBe(200);
    await running.server.close(0);
    const [served, failed] = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    const { 'escapement.slack_ms': slackMs, ...attributes } = attributesOf(served!);
    expect(attributes).toEqual({
      'escapement.request': 0,
      'escapement.model': 'model0',
      'escapement.outcome': 'ok',
      'escapement.slo_ms': PATIENT_MS,
      'escapement.cold_start': true,
      'escapement.action': expect.any(Number),
      'escapement.batch_size': 1,
      'escapement.gpu': 0,
      'escapement.gpu_kind': expect.any(String),
      'escapement.worker': expect.any(String),
    });
    const [arrivalNs, answerNs] = timesOf(served!);
    expect(slackMs).toBeCloseTo(PATIENT_MS - Number(answerNs! - arrivalNs!) / 1e6, 3);
    expect(Number(arrivalNs! / 1_000_000n)).toBeGreaterThanOrEqual(beginMs - 5);
    expect(Number(answerNs! / 1_000_000n)).toBeLessThanOrEqual(Date.now() + 5);
    const stages = spans.filter(({ parentSpanId }) => parentSpanId === served!.spanId);
    expect(stages.map(({ name }) => name)).toEqual(['queue', 'load', 'exec', 'answer']);
    const [queue, load, exec, answer] = stages.map(timesOf) as [bigint, bigint][];
    expect(queue[0]).toBe(arrivalNs);
    expect(load[1]).toBeLessThanOrEqual(exec[0]);
    expect([queue[1], exec[1], answer[1]]).toEqual([exec[0], answer[0], answerNs]);

    expect(attributesOf(failed!)).toMatchObject({
      'escapement.outcome': 'rejected',
      'escapement.cause': 'refused',
    });
    expect(failed!.status).toEqual({ code: 2, message: 'refused' });
    const kept = spans.filter(({ parentSpanId }) => parentSpanId === failed!.spanId);
    expect(kept.map(({ name }) => name)).toEqual(['queue']);
    expect(JSON.stringify(resources[0])).toMatch(/"ranker".*"zone".*"b"|"zone".*"b".*"ranker"/);
  });

  it('belong to the trace that a client names, which decides if they are sent', async () => {
    const { url, spans } = await collector();
    const { running } = await traced(url, 0);
    await ask(running, PATIENT_MS);
    await ask(running, PATIENT_MS, { traceparent: `00-${TRACE}-${PARENT}-00` });
    await ask(running, PATIENT_MS, { traceparent: `00-${TRACE}-${PARENT}-01` });
    await running.server.close(0);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    expect(spans.map(({ parentSpanId }) => parentSpanId)).toContain(PARENT);
    expect(spans.filter(({ name }) => name === 'infer model0')).toHaveLength(1);
  });

  it('follow OTEL_TRACES_SAMPLER if the command does not say which to take', async () => {
    const { url, spans } = await collector();
    const { running } = await traced(url, undefined, { OTEL_TRACES_SAMPLER: 'always_on' });
    await ask(running, PATIENT_MS);
    await running.server.close(0);
    expect(spans).not.toEqual([]);
  });

  it.each<[string, Answer | null, string, RegExp]>([
    ['fails', (_request, response) => void response.writeHead(500).end(), 'failed', /Internal Server Error/],
    ['does not answer, which fills the queue', () => {}, 'dropped', /./],
    ['is not there', null, 'failed', /ECONNREFUSED/],
  ])(
    'are counted as lost, and requests answered, where the collector %s',
    async (_, answer, result, said) => {
      const { url, end } = await collector(answer ?? undefined);
      if (answer === null) end();
      const { running, messages } = await traced(url, 1, {
        OTEL_BSP_MAX_QUEUE_SIZE: '8',
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
        OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      });
      await until(async () => {
        expect(await ask(running, PATIENT_MS)).toBe(200);
        const found = await counts(running);
        expect(found).not.toHaveProperty('sent');
        return (
          (found[result] ?? 0) > 8 && messages().some((line) => line.includes('spans for') && said.test(line))
        );
      });
      end();
    },
  );
});
