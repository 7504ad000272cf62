import { formatMs } from '../../text/numbers.js';
import type { Story } from '../protocol.js';

interface StoryProps {
  readonly title: string;
  /** Null: not answered. */
  readonly story: Story | null;
}

const NS_PER_MS = 1e6;

/** Story of a request, with reasons. */
export function StorySection({ title, story }: StoryProps) {
  if (story === null)
    return (
      <section class="story" aria-label={title}>
        <h2>{title}</h2>
        <p>It has no answer yet.</p>
      </section>
    );
  return (
    <section class="story" aria-label={title}>
      <h2>{`${title}: ${story.outcome}`}</h2>
      <p>
        {`For ${story.model}: it arrived at ${ms(story.arrivalNs)}, was due ${ms(story.deadlineNs - story.arrivalNs)} later and answered after ${ms(story.answeredNs - story.arrivalNs)}.`}
      </p>
      <ol>
        {story.events.map(({ atNs, text }) => (
          <li key={`${atNs} ${text}`}>
            <b>{since(story.arrivalNs, atNs)}</b> {text}
          </li>
        ))}
      </ol>
      {story.why.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </section>
  );
}

/** Text of a time relative to the arrival, which a LOAD may precede. */
function since(arrivalNs: number, ns: number): string {
  return ns < arrivalNs ? `−${ms(arrivalNs - ns)}` : `+${ms(ns - arrivalNs)}`;
}

function ms(ns: number): string {
  return formatMs(ns / NS_PER_MS);
}
