import { useEffect } from 'preact/hooks';
import { formatCount, formatMs } from '../../../text/numbers.js';
import { Fact } from '../../timeline/fact.jsx';
import { TimelineBox } from '../lane.jsx';
import type { Session, View } from '../session.js';
import { Slider } from '../slider.jsx';
import { StoryPanel } from '../story-panel.jsx';
import { useSession } from '../use-session.js';
import type { Idea } from './ideas.js';

const NS_PER_MS = 1e6;

interface IdeaBoxProps {
  readonly idea: Idea;
  readonly startEngine: () => Worker;
}

/** A playground with one control. */
export function IdeaBox({ idea, startEngine }: IdeaBoxProps) {
  const [view, session] = useSession(startEngine, idea.setup);
  useEffect(() => begin(session, idea), [session, idea]);
  const run = view.runs?.[0];
  const isPlaying = view.frame?.isPlaying ?? false;
  const facts = run === undefined ? factsSoFar(view) : idea.facts(run);
  return (
    <section aria-label="Try it">
      <div class="row">
        <Slider knob={idea.knob(view.setup)} onChoose={(choice) => turn(session, idea, choice)} />
        <button type="button" onClick={() => (isPlaying ? session.send({ type: 'pause' }) : play(session))}>
          {isPlaying ? 'Pause' : 'Play slowly'}
        </button>
        <button
          type="button"
          disabled={run !== undefined}
          onClick={() => session.send({ type: 'stepEvent' })}
        >
          Step
        </button>
        <button type="button" disabled={run !== undefined} onClick={() => session.send({ type: 'runToEnd' })}>
          To the end
        </button>
      </div>
      {view.problem === null ? null : (
        <p class="alert" role="alert">
          {view.problem.message}
        </p>
      )}
      <TimelineBox session={session} lane={0} />
      <dl class="facts">
        {Object.keys(facts).map((name) => (
          <Fact key={name} name={name}>
            {facts[name]}
          </Fact>
        ))}
      </dl>
      {view.story === null ? null : <StoryPanel view={view} />}
      <p class="heard" role="status">
        {view.said}
      </p>
    </section>
  );
}

function begin(session: Session, { begins }: Idea): void {
  if (begins === 'at its end') session.send({ type: 'runToEnd' });
  else for (let step = 0; step < begins; step++) session.send({ type: 'stepEvent' });
}

/** Turns the knob, on the same run up to now or on a new one. */
function turn(session: Session, idea: Idea, choice: string): void {
  const { setup } = session.view;
  const next = idea.knob(setup).set(setup, choice);
  if (idea.begins === 'at its end') {
    session.open(next);
    begin(session, idea);
  } else session.change(next);
}

/** Plays; a completed run starts again. */
function play(session: Session): void {
  if (session.view.runs !== null) session.open(session.view.setup);
  session.play();
}

function factsSoFar({ frame }: View): Readonly<Record<string, string>> {
  const lane = frame?.lanes[0];
  if (frame === null || lane === undefined) return { Simulating: '…' };
  const { late, refused, timedOut, failed, inTime } = lane.counts;
  return {
    Time: formatMs(frame.nowNs / NS_PER_MS),
    Waiting: formatCount(lane.waiting),
    'In time': formatCount(inTime),
    'Not in time': formatCount(late + refused + timedOut + failed),
  };
}
