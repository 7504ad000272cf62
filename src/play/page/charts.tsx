import { useEffect, useRef } from 'preact/hooks';
import { type ChartMaker, type Line, latencyChart, rateChart } from '../charts/plot.js';
import { cumulativePercent, LATENCY_BINS, latencyBinEndsMs } from '../latency-bins.js';
import type { FrameEvent } from '../protocol.js';
import type { Session, View } from './session.js';

interface ChartsProps {
  readonly session: Session;
  readonly view: View;
}

const NS_PER_S = 1e9;
/** Minimum interval between redraws, which cost more than a frame of the timeline. */
const LEAST_GAP_MS = 100;

const LANES: readonly Line[] = [
  { label: 'A', color: '--lane-a' },
  { label: 'B', color: '--lane-b', dash: [8, 4] },
];
const goodputOfLanes = rateChart([...LANES, { label: 'bound', color: '--muted', dash: [2, 4] }]);
const latencyOfLanes = latencyChart(LANES);

/** Goodput over time with the bound as a line, and the latencies so far. */
export function Charts({ session, view }: ChartsProps) {
  const bound = view.bound?.bestRps ?? null;
  return (
    <section class="charts" aria-label="Charts">
      <figure>
        <figcaption>
          Goodput, requests/s{' '}
          {bound === null ? (
            <button type="button" onClick={() => session.computeBound()}>
              Show the clairvoyant bound
            </button>
          ) : (
            <span>{`(no scheduler exceeds ${bound.toFixed(1)}/s over the run)`}</span>
          )}
        </figcaption>
        <Plot
          session={session}
          view={view}
          make={goodputOfLanes}
          data={(history) => history.goodput(bound)}
        />
      </figure>
      <figure>
        <figcaption>Latency of executed requests: share that took at most this long, ms</figcaption>
        <Plot session={session} view={view} make={latencyOfLanes} data={(history) => history.latency()} />
      </figure>
    </section>
  );
}

type Data = readonly (readonly (number | null)[])[];

/** Observations of the run so far, as columns: x, then one per line. */
class History {
  private readonly seconds: number[] = [];
  private readonly rates: [(number | null)[], (number | null)[]] = [[], []];
  private last: FrameEvent | null = null;

  add(frame: FrameEvent): void {
    this.last = frame;
    this.seconds.push(frame.nowNs / NS_PER_S);
    for (const lane of [0, 1] as const) this.rates[lane].push(frame.lanes[lane]?.goodputRps ?? null);
  }

  goodput(bound: number | null): Data {
    return [this.seconds, ...this.rates, this.seconds.map(() => bound)];
  }

  latency(): Data {
    const lanes = this.last?.lanes ?? [];
    const none = new Uint32Array(LATENCY_BINS);
    return [
      latencyBinEndsMs(),
      cumulativePercent(lanes[0]?.latency ?? none),
      cumulativePercent(lanes[1]?.latency ?? none),
    ];
  }
}

interface PlotProps extends ChartsProps {
  readonly make: ChartMaker;
  readonly data: (history: History) => Data;
}

function Plot({ session, view, make, data }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const draw = useRef(data);
  draw.current = data;
  const redraw = useRef(() => {});
  useEffect(() => {
    const chart = make(box.current!);
    let history = new History();
    let drawnMs = 0;
    redraw.current = () => chart.draw(draw.current(history));
    const stop = session.listen({
      opened() {
        history = new History();
      },
      frame(frame) {
        history.add(frame);
        const nowMs = performance.now();
        if (frame.isPlaying && nowMs - drawnMs < LEAST_GAP_MS) return;
        drawnMs = nowMs;
        redraw.current();
      },
    });
    return () => {
      stop();
      chart.destroy();
    };
  }, [session, make]);
  const { bound } = view;
  // The bound arrives after the last frame.
  useEffect(() => redraw.current(), [bound]);
  return <div ref={box} class="plot" />;
}
