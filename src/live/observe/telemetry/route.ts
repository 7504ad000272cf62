/** Something that the metrics port answers. */
export interface Route {
  readonly path: string;
  /** GET also answers HEAD. */
  readonly method: 'GET' | 'POST';
  readonly answer: (request: RouteRequest) => Reply | Promise<Reply>;
}

export interface RouteRequest {
  readonly query: URLSearchParams;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export function text(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${body}\n` };
}

export function json(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}
