import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** An infer request as it came. */
export interface Inference {
  readonly model: string;
  readonly headers: IncomingMessage['headers'];
  /** The JSON, without what the binary extension puts behind it. */
  readonly json: { readonly parameters: Record<string, unknown>; readonly inputs: Record<string, unknown>[] };
  readonly binary: Buffer;
  readonly response: ServerResponse;
  answer(status: number): void;
}

export interface HttpServerOptions {
  readonly models?: readonly string[];
  readonly extensions?: readonly string[];
  readonly ready?: boolean;
  readonly inputs?: readonly object[];
  /** What the server does with an infer request; by default it answers 200. */
  readonly infer?: (inference: Inference) => void;
}

/** An Open Inference server over HTTP that does what a test wants; closed when the test ends. */
export class HttpServer {
  readonly url: string;
  /** Connections that were ever opened. */
  readonly sockets: Socket[] = [];

  private constructor(private readonly server: Server) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (socket) => this.sockets.push(socket));
  }

  static async open(options: HttpServerOptions = {}): Promise<HttpServer> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => handle(options, request, response, Buffer.concat(parts)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const opened = new HttpServer(server);
    onTestFinished(() => opened.die());
    return opened;
  }

  /** As a process that was killed: open connections break, new ones are refused. */
  die(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

function handle(
  options: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
) {
  const models = options.models ?? ['a', 'b'];
  const inputs = options.inputs ?? [{ name: 'x', datatype: 'FP32', shape: [-1, 3] }];
  const reply = (status: number, value: unknown) => response.writeHead(status).end(JSON.stringify(value));
  const path = request.url ?? '';
  const [, name, verb] = /^\/v2\/models\/([^/]+)(\/infer)?$/.exec(path) ?? [];
  const model = name === undefined ? '' : decodeURIComponent(name);
  if (path === '/v2/health/ready') response.writeHead(options.ready === false ? 503 : 200).end();
  else if (path === '/v2') reply(200, { name: 'test', version: '1', extensions: options.extensions ?? [] });
  else if (path === '/v2/repository/index')
    reply(
      200,
      models.map((known) => ({ name: known, state: 'READY' })),
    );
  else if (!models.includes(model)) reply(404, { error: 'no such model' });
  else if (verb === undefined) reply(200, { name: model, platform: 'test', inputs, outputs: [] });
  else {
    const jsonBytes = Number(request.headers['inference-header-content-length'] ?? body.length);
    const inference: Inference = {
      model,
      headers: request.headers,
      json: JSON.parse(body.toString('utf8', 0, jsonBytes)),
      binary: body.subarray(jsonBytes),
      response,
      answer: (status) => reply(status, { model_name: model, outputs: [] }),
    };
    if (options.infer === undefined) inference.answer(200);
    else options.infer(inference);
  }
}
