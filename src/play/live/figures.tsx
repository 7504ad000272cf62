import { type ComponentChildren, Fragment } from 'preact';
import type { StatusMessage } from '../../live/observe/ui/messages.js';
import { formatCount, formatMs, formatPercent, formatRate } from '../../text/numbers.js';
import { senderTables } from './sender-tables.js';

const MOST_MODELS = 20;

/** Rates of the last seconds, and outcomes of all requests. */
export function Figures({ status }: { readonly status: StatusMessage }) {
  const { requests, windowSeconds, ready } = status;
  const { ok = 0, ...others } = requests.totals;
  const missed = Object.values(others).reduce((sum, count) => sum + count, 0);
  return (
    <dl class="facts" title={`Rates are means over about the last ${Math.round(windowSeconds)} s`}>
      <Fact name="Ready">{ready ? 'yes' : 'no'}</Fact>
      <Fact name="Offered">{`${formatRate(requests.offeredRps)}/s`}</Fact>
      <Fact name="Goodput">{`${formatRate(requests.goodputRps)}/s`}</Fact>
      <Fact name="Not in time">{`${formatRate(requests.failedRps)}/s`}</Fact>
      <Fact name="Waiting">{formatCount(requests.unanswered)}</Fact>
      <Fact name="In time, all">{formatCount(ok)}</Fact>
      <Fact name="Not in time, all">{formatCount(missed)}</Fact>
    </dl>
  );
}

export function Gpus({ gpus }: Pick<StatusMessage, 'gpus'>) {
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

export function Models({ models, otherModels }: Pick<StatusMessage, 'models' | 'otherModels'>) {
  const shown = models.slice(0, MOST_MODELS);
  const left = models.length - shown.length + otherModels;
  return (
    <>
      <Table
        caption="Models, the most active first"
        head={['Model', 'Copies', 'Queued', 'Offered', 'Goodput', 'Not in time', 'Queue', 'Runs for']}
      >
        {shown.map((model) => (
          <tr key={model.name}>
            <th scope="row">{model.name}</th>
            <td>{formatCount(model.copies)}</td>
            <td>{formatCount(model.queued)}</td>
            <td>{`${formatRate(model.offeredRps)}/s`}</td>
            <td>{`${formatRate(model.goodputRps)}/s`}</td>
            <td>{`${formatRate(model.failedRps)}/s`}</td>
            <td>{msOf(model.queueMs)}</td>
            <td>{msOf(model.execMs)}</td>
          </tr>
        ))}
      </Table>
      {left === 0 ? null : <p class="small">{`and ${formatCount(left)} more models`}</p>}
    </>
  );
}

/** Classes and tenants, if the server has any. */
export function Senders({ status }: { readonly status: StatusMessage }) {
  return (
    <>
      {senderTables(status).map(({ kind, caption, head, rows, left }) => (
        <Fragment key={kind}>
          <Table caption={caption} head={head}>
            {rows.map(([name = '', ...figures]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {figures.map((text, i) => (
                  <td key={head[i + 1]}>{text}</td>
                ))}
              </tr>
            ))}
          </Table>
          {left === 0 ? null : <p class="small">{`and ${formatCount(left)} more ${kind}`}</p>}
        </Fragment>
      ))}
    </>
  );
}

function msOf(value: number | null): string {
  return value === null ? '–' : formatMs(value);
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
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
