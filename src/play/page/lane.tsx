import { useEffect, useRef } from 'preact/hooks';
import { formatCount, formatPerSecond } from '../../text/numbers.js';
import { Fact } from '../timeline/fact.jsx';
import { Timeline } from '../timeline/timeline.js';
import type { Session, View } from './session.js';
import { shareText } from './share-text.js';

interface LaneProps {
  readonly session: Session;
  readonly view: View;
  readonly lane: number;
}

/** One policy: its figures and its timeline. */
export function Lane({ session, view, lane }: LaneProps) {
  const opened = view.lanes[lane];
  const frame = view.frame?.lanes[lane];
  const run = view.runs?.[lane];
  const share = frame?.attainment ?? null;
  const counts = frame?.counts;
  const missed = counts === undefined ? 0 : counts.late + counts.refused + counts.timedOut + counts.failed;
  const shared = view.setup.digests?.[lane];
  return (
    <section
      class={`lane lane-${'ab'[lane]}`}
      aria-label={`${lane === 0 ? 'A' : 'B'}: ${opened?.policy ?? ''}`}
    >
      <h2>
        <b>{lane === 0 ? 'A' : 'B'}</b> {opened?.policy}
      </h2>
      <dl class="facts">
        <Fact name={run === undefined ? 'Goodput, last second' : 'Goodput of the run'}>
          {formatPerSecond(run === undefined ? (frame?.goodputRps ?? 0) : run.summary.goodputRps)}
        </Fact>
        <Fact name={run === undefined ? 'In time, last second' : 'In time'}>
          {shareText(run === undefined ? share : run.summary.attainment)}
        </Fact>
        <Fact name="Waiting">{formatCount(frame?.waiting ?? 0)}</Fact>
        <Fact name="Not in time">{formatCount(missed)}</Fact>
        <Fact name="Digest">
          <code data-digest={lane}>{run?.summary.digest ?? frame?.digest ?? '–'}</code>
        </Fact>
      </dl>
      {run === undefined || shared === undefined ? null : (
        <p class="small">
          {shared === run.summary.digest
            ? '✓ The same run as the one that was shared: the digests are equal.'
            : `✗ Not the run that was shared, whose digest is ${shared}: this browser rounds differently, or the page is of another version.`}
        </p>
      )}
      <TimelineBox session={session} lane={lane} />
    </section>
  );
}

/** The timeline of a lane. The canvas draws itself: frames bypass Preact. */
export function TimelineBox({ session, lane }: { readonly session: Session; readonly lane: number }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const timeline = new Timeline(box.current!, { onRequest: (request) => session.tellStory(lane, request) });
    const stop = session.listen({
      opened: (lanes) => lanes[lane] !== undefined && timeline.reset(lanes[lane]),
      story: (explained) => timeline.tell(explained.lane === lane ? explained.story : null),
      frame: ({ nowNs, lanes }) => lanes[lane] !== undefined && timeline.add(lanes[lane], nowNs),
    });
    return () => {
      stop();
      timeline.destroy();
    };
  }, [session, lane]);
  return <div ref={box} class="timeline" />;
}
