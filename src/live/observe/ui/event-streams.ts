import type { ServerResponse } from 'node:http';
import { MIB } from '../../../base/units.js';
import type { Time, Timer } from '../../../base/world/time.js';
import { type Reply, text } from '../telemetry/route.js';

/** The thread that schedules writes to each of them. */
const MOST_READERS = 4;
/** What a reader has not taken yet: past this it misses events, and for so long at most. */
const MOST_WAITING_BYTES = 4 * MIB;
const PATIENCE_MS = 10_000;
const EVENT_STREAM = 'text/event-stream; charset=utf-8';

interface Reader {
  readonly response: ServerResponse;
  /** Set while it reads too slowly: cuts it off. */
  patience: Timer | null;
}

/**
 * Web pages that follow a server by server-sent events, as HTML's specification defines them. A page that reads too slowly
 * misses events, and learns that it did; one that does not read at all is cut off.
 */
export class EventStreams {
  private readonly readers = new Set<Reader>();

  /** `first`: what a reader gets at once, and again after events that it missed. */
  constructor(
    private readonly time: Time,
    private readonly first: () => string,
  ) {}

  get isRead(): boolean {
    return this.readers.size > 0;
  }

  /** Answers `GET`: a stream that lasts until either side ends it. `begun`: it has its first event. */
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

  /** What readers know of the server is out of date. */
  beginAgain(): void {
    for (const reader of this.readers) if (this.keepsUp(reader)) this.begin(reader);
  }

  close(): void {
    for (const { response } of this.readers) response.destroy();
  }

  private add(response: ServerResponse): void {
    const reader: Reader = { response, patience: null };
    this.readers.add(reader);
    response.once('close', () => {
      reader.patience?.cancel();
      this.readers.delete(reader);
    });
    this.begin(reader);
  }

  private begin({ response }: Reader): void {
    response.write(`event: setup\ndata: ${this.first()}\n\n`);
  }

  private keepsUp(reader: Reader): boolean {
    const { response } = reader;
    if (reader.patience === null) {
      if (response.writableLength <= MOST_WAITING_BYTES) return true;
      reader.patience = this.time.after(PATIENCE_MS, () => response.destroy());
    } else if (response.writableLength === 0) {
      reader.patience.cancel();
      reader.patience = null;
      this.begin(reader);
      return true;
    }
    return false;
  }
}
