import type { ServerResponse } from 'node:http';
import { MIB } from '../../../base/units.js';
import type { Time, Timer } from '../../../base/world/time.js';
import { type Reply, text } from '../telemetry/route.js';

/** Limit on readers: the scheduling thread writes to each of them. */
const MOST_READERS = 4;
/** Limits on a reader's backlog, above which it misses events, and on how long that may last. */
const MOST_WAITING_BYTES = 4 * MIB;
const STALL_TIMEOUT_MS = 10_000;
const EVENT_STREAM = 'text/event-stream; charset=utf-8';

interface Reader {
  readonly response: ServerResponse;
  /** Set while it reads too slowly: cuts it off. */
  stallTimer: Timer | null;
}

/**
 * Web pages that follow a server by server-sent events, as defined by the HTML specification. A page that reads too
 * slowly misses events, and is notified of that; one that does not read at all is cut off.
 */
export class EventStreams {
  private readonly readers = new Set<Reader>();

  /** `first`: sent to a reader initially, and again after events that it missed. */
  constructor(
    private readonly time: Time,
    private readonly first: () => string,
  ) {}

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
        this.add(response);
        begun();
      },
    };
  }

  /** `data`: one line. */
  send(event: string, data: string): void {
    const message = `event: ${event}\ndata: ${data}\n\n`;
    for (const reader of this.readers) {
      if (this.keepsUp(reader)) reader.response.write(message);
    }
  }

  /** Call when the readers' state is out of date. */
  beginAgain(): void {
    for (const reader of this.readers) if (this.keepsUp(reader)) this.begin(reader);
  }

  close(): void {
    for (const { response } of this.readers) response.destroy();
  }

  private add(response: ServerResponse): void {
    const reader: Reader = { response, stallTimer: null };
    this.readers.add(reader);
    response.once('close', () => {
      reader.stallTimer?.cancel();
      this.readers.delete(reader);
    });
    this.begin(reader);
  }

  private begin({ response }: Reader): void {
    response.write(`event: setup\ndata: ${this.first()}\n\n`);
  }

  private keepsUp(reader: Reader): boolean {
    const { response } = reader;
    if (reader.stallTimer === null) {
      if (response.writableLength <= MOST_WAITING_BYTES) return true;
      reader.stallTimer = this.time.after(STALL_TIMEOUT_MS, () => response.destroy());
    } else if (response.writableLength === 0) {
      reader.stallTimer.cancel();
      reader.stallTimer = null;
      this.begin(reader);
      return true;
    }
    return false;
  }
}
