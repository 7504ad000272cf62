import { useEffect, useState } from 'preact/hooks';
import type { Session, View } from './session.js';
import { boundSentence, TOUR } from './tour-steps.js';

interface TourProps {
  readonly session: Session;
  readonly view: View;
}

/** Time that a step plays before the rest of its run is simulated at once. */
const WATCH_MS = 4000;
const WATCH_SPEED = 0.02;

/** The guided minute: short steps, each a simulation of its own. */
export function Tour({ session, view }: TourProps) {
  const [at, setAt] = useState(0);
  const step = TOUR[at]!;
  const isLast = at === TOUR.length - 1;
  useEffect(() => {
    session.open(step.setup);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      session.send({ type: 'runToEnd' });
      return;
    }
    session.play(WATCH_SPEED);
    const timer = setTimeout(() => session.send({ type: 'runToEnd' }), WATCH_MS);
    return () => clearTimeout(timer);
  }, [session, step]);
  const runs = view.setup === step.setup ? view.runs : null;
  return (
    <section class="tour" aria-label="Guided minute">
      <p class="kind">{`Step ${at + 1} of ${TOUR.length}`}</p>
      <h2>{step.title}</h2>
      <p>{step.before}</p>
      <p class="result" role="status" data-step={at + 1}>
        {runs === null ? 'Simulating …' : step.after(runs)}
        {isLast && runs !== null && view.bound !== null ? ` ${boundSentence(view.bound, runs)}` : null}
      </p>
      <div class="row">
        <button type="button" disabled={at === 0} onClick={() => setAt(at - 1)}>
          Back
        </button>
        <button type="button" class="primary" disabled={isLast} onClick={() => setAt(at + 1)}>
          Next
        </button>
      </div>
    </section>
  );
}
