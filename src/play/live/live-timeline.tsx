import { useEffect, useRef } from 'preact/hooks';
import { Timeline } from '../timeline/timeline.js';
import type { Rows, ServerView } from './server-view.js';

/** Time shown: rows arrive several times a second. */
const LENGTH_NS = 2e9;
const NS_PER_MS = 1e6;
/** Time without messages after which the timeline stops. */
const MOST_AHEAD_MS = 1000;
const NOTHING: Rows = { actions: new Float64Array(), requests: new Float64Array() };

/** Passes rows on to the component that draws them. */
export class RowFeed {
  private reader: ((rows: Rows, nowNs: number) => void) | null = null;

  /** Sets the reader; null: none. */
  readBy(reader: typeof this.reader): void {
    this.reader = reader;
  }

  push(rows: Rows, nowNs: number): void {
    this.reader?.(rows, nowNs);
  }
}

interface TimelineProps {
  readonly server: ServerView;
  readonly first: Rows;
  readonly feed: RowFeed;
  readonly onRequest: (request: number) => void;
}

/** The timeline of a server; between messages, time advances by the page's clock. */
export function LiveTimeline({ server, first, feed, onRequest }: TimelineProps) {
  const box = useRef<HTMLDivElement>(null);
  const choose = useRef(onRequest);
  choose.current = onRequest;
  useEffect(() => {
    const { setup, beganNs } = server;
    const timeline = new Timeline(box.current!, {
      onRequest: (request) => choose.current(request),
      lengthNs: LENGTH_NS,
    });
    timeline.reset(setup);
    let latestNs = beganNs;
    let receivedMs = performance.now();
    timeline.add(first, latestNs);
    feed.readBy((rows, nowNs) => {
      latestNs = nowNs;
      receivedMs = performance.now();
      timeline.add(rows, nowNs);
    });
    let frame = 0;
    const goOn = () => {
      const aheadMs = Math.min(performance.now() - receivedMs, MOST_AHEAD_MS);
      timeline.add(NOTHING, latestNs + aheadMs * NS_PER_MS);
      frame = requestAnimationFrame(goOn);
    };
    frame = requestAnimationFrame(goOn);
    return () => {
      cancelAnimationFrame(frame);
      feed.readBy(null);
      timeline.destroy();
    };
  }, [server, first, feed]);
  return <div ref={box} class="timeline" />;
}
