import { useEffect, useState } from 'preact/hooks';
import type { Setup } from '../share/address.js';
import { Legend } from '../timeline/legend.jsx';
import { Charts } from './charts.jsx';
import { Controls } from './controls.jsx';
import { DropZone } from './drop-zone.jsx';
import { Lane } from './lane.jsx';
import { Share } from './share.jsx';
import { StoryPanel } from './story-panel.jsx';
import { Tour } from './tour.jsx';
import { Transport } from './transport.jsx';
import { useSession } from './use-session.js';
import { WAYS_WORSE } from './worse.js';

interface AppProps {
  readonly setup: Setup;
  readonly problem: string;
  readonly isDefault: boolean;
  readonly startEngine: () => Worker;
}

/** The whole page. */
export function App({ setup, problem, isDefault, startEngine }: AppProps) {
  const [view, session] = useSession(startEngine, setup, problem);
  const [isTouring, setTouring] = useState(false);
  const isOver = view.runs !== null;
  useEffect(() => {
    if (isOver) session.computeBound();
  }, [session, isOver]);
  const lanes = view.setup.lanes.map((_, lane) => lane);
  return (
    <DropZone session={session}>
      <header>
        <h1>A scheduler to poke</h1>
        <p class="lead">
          This page runs escapement’s scheduler and simulator, the same code as the command line. Turn a knob,
          make the world worse, and see which requests miss their SLO and why.
        </p>
        <div class="row">
          <button
            type="button"
            class="primary"
            aria-pressed={isTouring}
            onClick={() => setTouring(!isTouring)}
          >
            {isTouring ? 'Leave the guided minute' : 'Guided minute'}
          </button>
          <Share session={session} view={view} />
        </div>
      </header>
      {isDefault && !isTouring ? (
        <p class="small">New here? The guided minute shows why booking ahead matters.</p>
      ) : null}
      {isTouring ? <Tour session={session} view={view} /> : null}
      {view.problem === null ? null : (
        <p class="alert" role="alert">
          {view.problem.message}
        </p>
      )}
      <div class="columns">
        <Controls setup={view.setup} onChange={(next) => session.change(next)} />
        <main>
          <Transport session={session} view={view} />
          {lanes.map((lane) => (
            <Lane key={lane} session={session} view={view} lane={lane} />
          ))}
          <Legend />
          <section aria-label="Make the world worse" class="worse">
            <h2>Make the world worse</h2>
            <div class="row">
              {WAYS_WORSE.map(({ label, hint, apply }) => (
                <button
                  key={label}
                  type="button"
                  title={hint}
                  onClick={() => session.change(apply(view.setup, view.frame?.nowNs ?? 0))}
                >
                  {label}
                </button>
              ))}
            </div>
          </section>
          <StoryPanel view={view} />
          <Charts session={session} view={view} />
        </main>
      </div>
      <p class="heard" role="status" aria-live="polite">
        {view.said}
      </p>
    </DropZone>
  );
}
