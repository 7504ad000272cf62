/** A route of the metrics port, for GET and HEAD. */
export interface Route {
  readonly path: string;
  /** True if it reveals nothing about the server or its models, and needs no token. */
  readonly isPublic?: boolean;
  readonly answer: (request: RouteRequest) => Reply | Promise<Reply>;
}

interface RouteRequest {
  readonly query: URLSearchParams;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  /** Headers other than the content type. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export function text(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${body}\n` };
}

export function json(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}
