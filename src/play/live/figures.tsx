import { type ComponentChildren, Fragment } from 'preact';
import type { ClusterStatus } from '../../live/observe/status/cluster-status.js';
import { DIMENSIONS } from '../../record/dimensions.js';
import { offeredMs } from '../../record/latency.js';
import type { LatencyMs } from '../../record/results.js';
import { breakdownTable, liveBreakdowns } from '../../report/breakdown.js';
import { formatCount, formatMs, formatPercent, formatPerSecond } from '../../text/numbers.js';
import { capital } from '../../text/words.js';
import { Fact } from '../timeline/fact.jsx';

const MOST_ROWS = 20;

/** Figures of all requests of the last seconds, and outcomes since the start. */
export function Figures({ status }: { readonly status: ClusterStatus }) {
  const { ok = 0, ...others } = status.totals;
  const missed = Object.values(others).reduce((sum, count) => sum + count, 0);
  const ms = (name: keyof LatencyMs) => formatMs(offeredMs(status, name));
  return (
    <dl class="facts" title={`Rates and latencies are of the last ${Math.round(status.windowSeconds)} s`}>
      <Fact name="Ready">{status.ready ? 'yes' : 'no'}</Fact>
      {status.blocked && <Fact name="No GPU for">{status.blocked.join(', ')}</Fact>}
      <Fact name="Offered">{formatPerSecond(status.offeredRps)}</Fact>
      <Fact name="Goodput">{formatPerSecond(status.goodputRps)}</Fact>
      <Fact name="Attained">{formatPercent(status.attainment)}</Fact>
      <Fact name="p50">{ms('p50')}</Fact>
      <Fact name="p95">{ms('p95')}</Fact>
      <Fact name="p99">{ms('p99')}</Fact>
      <Fact name="Waiting">{formatCount(status.unanswered)}</Fact>
      <Fact name="In time, all">{formatCount(ok)}</Fact>
      <Fact name="Not in time, all">{formatCount(missed)}</Fact>
    </dl>
  );
}

export function Gpus({ gpus }: Pick<ClusterStatus, 'gpus'>) {
  return (
    <Table caption="GPUs" head={['GPU', 'Worker', 'State', 'Busy', 'Runs', 'Models held', 'Pages free']}>
      {gpus.map(({ worker, up, lanes, warmModels, freePages, pages }, gpu) => (
        <tr key={gpu} class={up ? '' : 'down'}>
          <th scope="row">{gpu}</th>
          <td>{worker}</td>
          <td>{up ? 'up' : 'down'}</td>
          <td>{lanes.map(({ lane, busy }) => `${lane} ${formatPercent(busy)}`).join(', ')}</td>
          <td>
            {lanes
              .map(({ running }) => running)
              .filter(Boolean)
              .join(', ') || '–'}
          </td>
          <td>{formatCount(warmModels)}</td>
          <td>{`${formatCount(freePages)} of ${formatCount(pages)}`}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Requests by each dimension that the server has. */
export function Breakdowns({ by }: Pick<ClusterStatus, 'by'>) {
  return (
    <>
      {liveBreakdowns(by).map((breakdown) => {
        const { columns, rows } = breakdownTable(breakdown);
        const { plural } = DIMENSIONS[breakdown.dimension];
        const left = rows.length - MOST_ROWS;
        return (
          <Fragment key={plural}>
            <Table caption={capital(plural)} head={columns.map(({ title }) => capital(title))}>
              {rows.slice(0, MOST_ROWS).map(([name, ...figures]) => (
                <tr key={name!.text}>
                  <th scope="row">{name!.text}</th>
                  {figures.map(({ text }, i) => (
                    <td key={columns[i + 1]!.title}>{text}</td>
                  ))}
                </tr>
              ))}
            </Table>
            {left <= 0 ? null : <p class="small">{`and ${formatCount(left)} more ${plural}`}</p>}
          </Fragment>
        );
      })}
    </>
  );
}

interface TableProps {
  readonly caption: string;
  readonly head: readonly string[];
  readonly children: ComponentChildren;
}

function Table({ caption, head, children }: TableProps) {
  return (
    <div class="table">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
