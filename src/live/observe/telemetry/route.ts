import type { ServerResponse } from 'node:http';
import type { RecordingControl } from '../../recording/server-recorder.js';

/** A route of the metrics port. */
export interface Route {
  readonly path: string;
  /** GET also answers HEAD. */
  readonly method: 'GET' | 'POST';
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
  /** The whole body, or a function that streams it. */
  readonly body: string | Buffer | ((response: ServerResponse) => void);
}

export function text(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${body}\n` };
}

export function json(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}

/** `POST /recording/start` and `POST /recording/stop`. */
export function recordingRoutes(control: RecordingControl): Route[] {
  return [
    { path: '/recording/start', method: 'POST', answer: () => start(control) },
    { path: '/recording/stop', method: 'POST', answer: () => stop(control) },
  ];
}

function start(control: RecordingControl): Reply {
  if (control.recording)
    return json(409, { error: 'is being recorded already: POST /recording/stop writes it' });
  control.start();
  return json(200, { recording: true });
}

async function stop(control: RecordingControl): Promise<Reply> {
  const written = control.recording ? await control.stop() : null;
  return written === null
    ? json(409, { error: 'nothing is being recorded: POST /recording/start begins' })
    : json(200, written);
}
