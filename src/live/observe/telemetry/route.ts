import type { ServerResponse } from 'node:http';

/** Something that the metrics port answers. */
export interface Route {
  readonly path: string;
  /** GET also answers HEAD. */
  readonly method: 'GET' | 'POST';
  /** It tells nothing of the server or its models, and asks for no token. */
  readonly isPublic?: boolean;
  readonly answer: (request: RouteRequest) => Reply | Promise<Reply>;
}

export interface RouteRequest {
  readonly query: URLSearchParams;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  /** Others than the type of content. */
  readonly headers?: Readonly<Record<string, string>>;
  /** All of it, or who goes on writing it. */
  readonly body: string | Buffer | ((response: ServerResponse) => void);
}

export function text(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${body}\n` };
}

export function json(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}
