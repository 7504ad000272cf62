import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { credentials } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { GrpcClient } from '../../live/frontend/grpc-client.js';
import { get, until } from '../server-process.js';
import { NO_HAPROXY, startCell, startFront } from './haproxy.js';

/** A name that paths must encode and messages must not. */
const ODD = 'odd/näme+50%';
const MODELS = [
  ['ranker', 'both'],
  [ODD, 'both'],
] as const;

const title = (what: string) => (NO_HAPROXY === null ? what : `${what} (skipped: ${NO_HAPROXY})`);

it.skipIf(NO_HAPROXY !== null)(
  title(
    'a real HAProxy sends requests to the cell of their model, and clients survive the death of a controller',
  ),
  { timeout: 300_000 },
  async () => {
    const cells = [await startCell(MODELS[0]), await startCell(MODELS[1])];
    const { http, grpc } = await startFront(cells, MODELS, ['--max-message', '64KiB']);
    const client = new GrpcClient(grpc, credentials.createInsecure());
    const inferOver = (name: string, id: string) =>
      client.call('ModelInfer', { model_name: name, id, inputs: INPUTS, parameters: SLO });
    const refusal = (call: Promise<unknown>) =>
      call.then(
        () => 0,
        ({ code }: { code: number }) => code,
      );

    // Each model over HTTP, with a version and in other calls.
    for (const name of ['ranker', ODD, 'both']) {
      expect(await post(http, name, 'x')).toEqual({ status: 200, answer: { name, id: 'x' } });
      const path = `/v2/models/${encodeURIComponent(name)}`;
      expect((await get(http, `${path}/versions/1/ready`)).text).toContain('"ready":true');
      expect(JSON.parse((await get(http, path)).text).name).toBe(name);
    }
    expect((await post(http, 'none', 'x')).status).toBe(404);
    expect((await get(http, '/v2')).text).toContain('escapement');
    expect(await get(http, '/v2/health/live')).toEqual({ status: 200, text: '{"live":true}' });
    for (const path of ['/v2/models', '/v2/models/stats']) expect((await get(http, path)).status).toBe(501);
    expect(await repository(http, 'ranker', 'load')).toBe(200);
    expect(await repository(http, 'both', 'load')).toBe(501);

    // The same over gRPC, whose calls name their model in the message.
    for (const name of ['ranker', ODD, 'both']) {
      expect(await inferOver(name, 'y')).toMatchObject({ model_name: name, id: 'y' });
      expect(await client.call('ModelReady', { name })).toEqual({ ready: true });
      expect(await client.call('ModelMetadata', { name })).toMatchObject({ name });
      expect((await client.call('ModelStatistics', { name })).model_stats).toHaveLength(1);
    }
    expect(await client.call('ServerReady', {})).toEqual({ ready: true });
    await client.call('RepositoryModelLoad', { model_name: ODD });
    expect(await refusal(client.call('RepositoryModelLoad', { model_name: 'both' }))).toBe(12);
    expect(await refusal(inferOver('none', 'y'))).toBe(5);
    expect(await refusal(client.call('ModelReady', {}))).toBe(3);
    expect(await refusal(client.call('RepositoryIndex', {}))).toBe(12);
    expect(await refusal(client.call('ModelStatistics', {}))).toBe(12);
    // A message that a buffer cannot hold is refused, not sent anywhere.
    const large = { model_name: 'ranker', id: 'z'.repeat(70_000), inputs: INPUTS };
    expect(await refusal(client.call('ModelInfer', large))).toBe(8);
    // A stream goes where its first message says, though it does not end.
    expect(await client.stream({ model_name: ODD, id: 's', inputs: INPUTS, parameters: SLO })).toMatchObject({
      infer_response: { model_name: ODD, id: 's' },
    });

    // Clients that ask again lose nothing when the active controller of the first cell is killed.
    const asking = new Clients(http, inferOver);
    asking.start();
    await until(() => asking.least() >= 20);
    await cells[0]!.controllers[0]!.kill('SIGKILL');
    const before = asking.counts();
    await until(() => asking.counts().every((count, i) => count >= before[i]! + 20));
    await asking.stop();
    expect(asking.wrong).toEqual([]);
    expect([...asking.failures.get('ranker')!].filter((how) => !AGAIN.has(how))).toEqual([]);
    // The other cell notices nothing.
    expect([...asking.failures.get(ODD)!]).toEqual([]);
    expect((await get(http, '/v2/health/ready')).status).toBe(200);

    // Without any controller the cell's models are away, and the others are not.
    await cells[0]!.controllers[1]!.kill('SIGKILL');
    await until(async () => (await get(http, '/v2/health/ready')).status === 503);
    expect((await post(http, 'ranker', 'x')).status).toBe(503);
    expect(await refusal(inferOver('ranker', 'y'))).toBe(14);
    expect(await refusal(client.call('ServerReady', {}))).toBe(14);
    for (const name of [ODD, 'both']) {
      expect((await post(http, name, 'x')).status).toBe(200);
      expect(await inferOver(name, 'y')).toMatchObject({ model_name: name, id: 'y' });
    }
    client.close();
  },
);

const SLO_MS = 20_000;
const SLO = { slo_ms: { int64_param: SLO_MS } };
const INPUTS = [{ name: 'input', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [1, 2] } }];

/** Clients of each model over each transport: enough that some wait for an answer at any moment. */
const PER_TRANSPORT = 4;

/** How a request may fail that is to be repeated: 503, a reset, and UNAVAILABLE. */
const AGAIN = new Set(['HTTP 503', 'HTTP reset', 'gRPC 14']);

type Grpc = (name: string, id: string) => Promise<{ readonly model_name: string; readonly id: string }>;

/** Clients of two models over both transports, each with one request at a time, which it repeats until it is answered. */
class Clients {
  /** How requests failed before they were answered, by model. */
  readonly failures = new Map([
    ['ranker', new Set<string>()],
    [ODD, new Set<string>()],
  ]);
  /** Answers that were not to the request. */
  readonly wrong: string[] = [];
  private readonly answered = new Map<string, number>();
  private readonly running: Promise<void>[] = [];
  private isStopped = false;

  constructor(
    private readonly http: number,
    private readonly overGrpc: Grpc,
  ) {}

  start(): void {
    for (const name of this.failures.keys()) {
      for (let i = 0; i < PER_TRANSPORT; i++) {
        this.running.push(this.run(name, `HTTP ${i}`, (id) => this.askHttp(name, id, i % 2 === 0)));
        this.running.push(this.run(name, `gRPC ${i}`, (id) => this.askGrpc(name, id)));
      }
    }
  }

  counts(): number[] {
    return this.running.map((_, i) => [...this.answered.values()][i] ?? 0);
  }

  /** Answers of the client that has the fewest. */
  least(): number {
    return Math.min(...this.counts());
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.running);
  }

  /** `ask` resolves with how it failed; null: it was answered. */
  private async run(name: string, how: string, ask: (id: string) => Promise<string | null>): Promise<void> {
    for (let i = 0; !this.isStopped; i++) {
      const id = `${name} ${how} ${i}`;
      for (let failed = await ask(id); failed !== null; failed = await ask(id)) {
        this.failures.get(name)!.add(failed);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      this.answered.set(`${name} ${how}`, i + 1);
    }
  }

  /** `alone`: on a connection of its own, on which HAProxy says what it cannot say on one that was used before. */
  private async askHttp(name: string, id: string, alone: boolean): Promise<string | null> {
    const { status, answer } = await post(this.http, name, id, alone).catch(() => ({
      status: 0,
      answer: null,
    }));
    if (status === 0) return 'HTTP reset';
    if (status !== 200) return `HTTP ${status}`;
    if (answer?.name !== name || answer.id !== id) this.wrong.push(id);
    return null;
  }

  private async askGrpc(name: string, id: string): Promise<string | null> {
    try {
      const answer = await this.overGrpc(name, id);
      if (answer.model_name !== name || answer.id !== id) this.wrong.push(id);
      return null;
    } catch (error) {
      return `gRPC ${(error as { code: number }).code}`;
    }
  }
}

async function post(port: number, model: string, id: string, alone = true) {
  const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, 2], data: [1, 2] }];
  const body = JSON.stringify({ id, inputs, parameters: { slo_ms: SLO_MS } });
  const { status, text } = await send(port, `/v2/models/${encodeURIComponent(model)}/infer`, body, alone);
  const { model_name: name, id: answered } = JSON.parse(text) as { model_name: string; id: string };
  return { status, answer: status === 200 ? { name, id: answered } : null };
}

async function send(port: number, path: string, body: string, alone: boolean) {
  const agent = alone ? false : KEPT;
  const sent = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', agent });
  const answered = once(sent, 'response');
  sent.end(body);
  const [response] = (await answered) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await readText(response) };
}

/** Connections that are used again. */
const KEPT = new Agent({ keepAlive: true });

async function repository(port: number, model: string, verb: string): Promise<number> {
  const url = `http://127.0.0.1:${port}/v2/repository/models/${encodeURIComponent(model)}/${verb}`;
  const response = await fetch(url, { method: 'POST' });
  await response.arrayBuffer();
  return response.status;
}
