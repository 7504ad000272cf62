import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { credentials, makeClientConstructor, Server, ServerCredentials } from '@grpc/grpc-js';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { onTestFinished } from 'vitest';
import { PROTOCOL_FILE } from '../../src/live/frontend/grpc/protocol.js';
import type { Loose } from './http.js';

/** A request or an answer over HTTP on its way. */
export interface Message {
  path: string;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** What a server does wrong: its requests and answers are changed on their way. */
export interface Defect {
  readonly asked?: (request: Message) => void;
  readonly answered?: (answer: Message, request: Message) => void;
  /** An answer over gRPC; an error is an `Error`, which may be answered with a message instead. */
  readonly called?: (answer: Loose, method: string) => Loose;
  readonly streamed?: (answers: Loose[]) => Loose[];
}

/** Changes the JSON of a message, and leaves the bytes after it. */
export function edit(message: Message, change: (json: Loose) => void): void {
  const headBytes = Number(message.headers['inference-header-content-length'] ?? message.body.length);
  let json: Loose;
  try {
    json = JSON.parse(message.body.toString('utf8', 0, headBytes));
  } catch {
    return;
  }
  change(json);
  const head = Buffer.from(JSON.stringify(json));
  message.body = Buffer.concat([head, message.body.subarray(headBytes)]);
  if ('inference-header-content-length' in message.headers)
    message.headers['inference-header-content-length'] = String(head.length);
}

/** Stands in front of an HTTP server with a defect. Resolves with its port. */
export async function tamperHttp(port: number, { asked, answered }: Defect): Promise<number> {
  const proxy = createServer(async (incoming, outgoing) => {
    const { method = '', url: path = '', headers } = incoming;
    const request: Message = { path, headers, status: 0, body: await buffer(incoming) };
    asked?.(request);
    const sent = send({ port, method, path: request.path, agent: false, headers: sized(request) }).end(
      request.body,
    );
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const answer = {
      path,
      headers: response.headers,
      status: response.statusCode ?? 0,
      body: await buffer(response),
    };
    answered?.(answer, request);
    outgoing.writeHead(answer.status, sized(answer)).end(answer.body);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return (proxy.address() as AddressInfo).port;
}

function sized({ headers, body }: Message): IncomingHttpHeaders {
  const { connection: _, 'transfer-encoding': __, ...others } = headers;
  return { ...others, 'content-length': String(body.length) };
}

/** The same over gRPC. */
export async function tamperGrpc(port: number, { called, streamed }: Defect): Promise<number> {
  const service = loadSync(PROTOCOL_FILE, { keepCase: true, longs: String, defaults: true })[
    'inference.GRPCInferenceService'
  ] as ServiceDefinition;
  const client: Loose = new (makeClientConstructor(service, 'inference'))(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
  );
  const pass = (method: string) => (call: Loose, done: Loose) =>
    client[method](call.request, (error: Error | null, message: Loose) => {
      const answer = error ?? message;
      const changed = called?.(answer, method) ?? answer;
      if (changed instanceof Error) done(changed);
      else done(null, changed);
    });
  const passStream = (call: Loose) => {
    const answers: Loose[] = [];
    const stream = client.ModelStreamInfer();
    stream.on('data', (answer: Loose) => answers.push(answer));
    stream.on('end', () => {
      for (const answer of streamed?.(answers) ?? answers) call.write(answer);
      call.end();
    });
    call.on('data', (request: Loose) => stream.write(request)).on('end', () => stream.end());
  };
  const proxy = new Server();
  proxy.addService(service, {
    ...Object.fromEntries(Object.keys(service).map((method) => [method, pass(method)])),
    ModelStreamInfer: passStream,
  });
  const bound = await new Promise<number>((resolve, reject) =>
    proxy.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error),
    ),
  );
  onTestFinished(() => {
    proxy.forceShutdown();
    client.close();
  });
  return bound;
}
