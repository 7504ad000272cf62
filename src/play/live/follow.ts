import type { RowsMessage, SetupMessage, StatusMessage } from '../../live/observe/ui/messages.js';
import { EventReader, type ServerEvent } from './event-reader.js';

/** Receiver of a server's messages. */
interface Follower {
  setup(message: SetupMessage): void;
  rows(message: RowsMessage): void;
  status(message: StatusMessage): void;
  /** The stream ended or could not start, and is retried. */
  lost(problem: string): void;
  /** The token is missing or wrong; following ends. */
  refused(): void;
}

const AGAIN_MS = 1000;

/**
 * Follows the page's server until the returned function is called. The token goes into a header: an address would be
 * kept in histories and logs, and EventSource cannot send headers.
 */
export function follow(token: string, follower: Follower): () => void {
  const stop = new AbortController();
  void keepReading(token, follower, stop.signal);
  return () => stop.abort();
}

async function keepReading(token: string, follower: Follower, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
      const answer = await fetch('events', { headers, signal, cache: 'no-store' });
      if (answer.status === 401 || answer.status === 403) return follower.refused();
      if (!answer.ok || answer.body === null) throw new Error((await answer.text()).trim());
      await readAll(answer.body, follower);
      follower.lost('The server closed the stream');
    } catch (error) {
      if (signal.aborted) return;
      follower.lost((error as Error).message);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function readAll(body: ReadableStream<Uint8Array>, follower: Follower): Promise<void> {
  const events = new EventReader();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const event of events.read(decoder.decode(value, { stream: true }))) tell(follower, event);
  }
}

function tell(follower: Follower, { event, data }: ServerEvent): void {
  if (event === 'setup') follower.setup(JSON.parse(data));
  else if (event === 'rows') follower.rows(JSON.parse(data));
  else if (event === 'status') follower.status(JSON.parse(data));
}
