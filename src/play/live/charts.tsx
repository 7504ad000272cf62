import { useEffect, useRef } from 'preact/hooks';
import { type ChartMaker, latencyChart, rateChart, type SeriesChart } from '../charts/plot.js';
import { cumulativePercent, latencyBinEndsMs } from '../latency-bins.js';
import type { RateHistory } from './rate-history.js';
import type { ServerView } from './server-view.js';

const rates = rateChart([
  { label: 'goodput', color: '--lane-a' },
  { label: 'offered', color: '--muted', dash: [2, 4] },
]);
const latencies = latencyChart([{ label: 'all models', color: '--lane-a' }]);

interface ChartsProps {
  readonly server: ServerView;
  readonly history: RateHistory;
}

/** Goodput over time, and latencies. Redrawn with each status. */
export function Charts({ server, history }: ChartsProps) {
  return (
    <section class="charts" aria-label="Charts">
      <figure>
        <figcaption>{`Requests/s, means over about ${Math.round(server.status.windowSeconds)} s, by seconds since the start`}</figcaption>
        <Plot make={rates} columns={history.columns} />
      </figure>
      <figure>
        <figcaption>Latency of recently executed requests: share that took at most this long, ms</figcaption>
        <Plot make={latencies} columns={[latencyBinEndsMs(), cumulativePercent(server.latencyCounts())]} />
      </figure>
    </section>
  );
}

interface PlotProps {
  readonly make: ChartMaker;
  readonly columns: Parameters<SeriesChart['draw']>[0];
}

function Plot({ make, columns }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<SeriesChart | null>(null);
  useEffect(() => {
    chart.current = make(box.current!);
    return () => chart.current?.destroy();
  }, [make]);
  useEffect(() => chart.current?.draw(columns));
  return <div ref={box} class="plot" />;
}
