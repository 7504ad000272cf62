import type { ServerResponse } from 'node:http';
import { MIB } from '../../../base/units.js';
import { type Reply, text } from '../telemetry/route.js';

/** Limit on readers: the scheduling thread writes to each of them. */
const MOST_READERS = 4;
/** Limit on a reader's backlog. */
const MOST_WAITING_BYTES = 4 * MIB;
const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/**
 * Web pages that follow a server by server-sent events, as defined by the HTML specification. A page that reads too slowly
 * is cut off: it connects again by itself.
 */
export class EventStreams {
  private readonly readers = new Set<ServerResponse>();

  /** `first`: sent to a reader initially. */
  constructor(private readonly first: () => string) {}

  get isRead(): boolean {
    return this.readers.size > 0;
  }

  /** Answers `GET` with a stream that lasts until either side ends it. `begun`: called after its first event. */
  open(begun: () => void): Reply {
    if (this.readers.size >= MOST_READERS)
      return text(503, `${MOST_READERS} pages follow this server already: close one of them`);
    return {
      status: 200,
      contentType: EVENT_STREAM,
      headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
      body: (response) => {
        this.readers.add(response);
        response.once('close', () => this.readers.delete(response));
        response.write(eventOf('setup', this.first()));
        begun();
      },
    };
  }

  /** `data`: one line. */
  send(event: string, data: string): void {
    for (const response of this.readers) {
      if (response.writableLength > MOST_WAITING_BYTES) response.destroy();
      else response.write(eventOf(event, data));
    }
  }

  /** Sends the first event again: the readers' state is out of date. */
  beginAgain(): void {
    this.send('setup', this.first());
  }

  close(): void {
    for (const response of this.readers) response.destroy();
  }
}

function eventOf(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
