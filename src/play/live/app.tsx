import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Story } from '../protocol.js';
import { Legend } from '../timeline/legend.jsx';
import { StorySection } from '../timeline/story-section.jsx';
import { Charts } from './charts.jsx';
import { Breakdowns, Figures, Gpus } from './figures.jsx';
import { follow } from './follow.js';
import { LiveTimeline, RowFeed } from './live-timeline.jsx';
import { RateHistory } from './rate-history.js';
import { type Rows, ServerView } from './server-view.js';
import { TokenForm } from './token-form.jsx';

interface Shown {
  readonly server: ServerView;
  /** Rows from before the page was opened. */
  readonly first: Rows;
}

interface Chosen {
  readonly request: number;
  readonly story: Story | null;
}

/** The whole page of a running server. */
export function App() {
  const [token, setToken] = useState('');
  const [isRefused, setRefused] = useState(false);
  const { shown, feed, history, problem } = useServer(token, isRefused, setRefused);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  if (isRefused)
    return (
      <div class="page">
        <TokenForm
          wasWrong={token !== ''}
          onToken={(given) => {
            setToken(given);
            setRefused(false);
          }}
        />
      </div>
    );
  const status = shown?.server.status;
  return (
    <div class="page">
      <header>
        <h1>{status === undefined ? 'escapement' : `${status.host}: ${status.policy}`}</h1>
        <p class="small">
          {status === undefined
            ? 'Connecting…'
            : `Up for ${Math.floor(status.upSeconds)} s. Updated once a second.`}
        </p>
      </header>
      {problem === '' ? null : (
        <p class="alert" role="alert">
          {`${problem}; trying again`}
        </p>
      )}
      {shown === null || status === undefined ? null : (
        <main>
          <section class="lane" aria-label="Now">
            <Figures status={status} />
            <LiveTimeline
              server={shown.server}
              first={shown.first}
              feed={feed}
              onRequest={(request) => setChosen({ request, story: shown.server.story(request) })}
            />
            <Legend />
          </section>
          {chosen === null ? (
            <p class="small">
              Choose a request in the last row of the timeline, or an action, to read what became of it and
              why. With the keyboard: up, down and Enter in the timeline.
            </p>
          ) : (
            <StorySection title={`Request ${chosen.request}`} story={chosen.story} />
          )}
          <Charts server={shown.server} history={history} />
          <Breakdowns by={status.by} />
          <Gpus gpus={status.gpus} />
        </main>
      )}
    </div>
  );
}

function useServer(token: string, isRefused: boolean, setRefused: (isRefused: boolean) => void) {
  const [shown, setShown] = useState<Shown | null>(null);
  const [problem, setProblem] = useState('');
  const [, setTick] = useState(0);
  const feed = useMemo(() => new RowFeed(), []);
  const history = useMemo(() => new RateHistory(), []);
  useEffect(() => {
    if (isRefused) return;
    let server: ServerView | null = null;
    return follow(token, {
      began(message, setup, status) {
        server = new ServerView(setup, status, message.nowNs);
        history.began(message.start);
        history.add(status);
        setShown({ server, first: server.add(message) });
        setProblem('');
      },
      rows(message) {
        if (server !== null) feed.push(server.add(message), message.nowNs);
      },
      status(message) {
        if (server !== null) server.status = message;
        history.add(message);
        setTick((tick) => tick + 1);
      },
      lost: setProblem,
      refused: () => setRefused(true),
    });
  }, [token, isRefused, setRefused, feed, history]);
  return { shown, feed, history, problem };
}
