import { formatMs } from '../../text/numbers.js';
import type { View } from './session.js';

const NS_PER_MS = 1e6;

/** Why a request was answered as it was. */
export function StoryPanel({ view }: { readonly view: View }) {
  const { story: answer } = view;
  if (answer === null) {
    return (
      <p class="small">
        “Next late request” stops at the next request that is not answered in time and tells its story; a
        request in a timeline tells it when you choose it.
      </p>
    );
  }
  const { story, request, lane } = answer;
  const of = view.setup.lanes.length === 1 ? '' : ` of ${lane === 0 ? 'A' : 'B'}`;
  const title = `Request ${request}${of}`;
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
        {`Model ${story.model}; it arrived at ${ms(story.arrivalNs)}, was due ${ms(story.deadlineNs - story.arrivalNs)} later and answered after ${ms(story.answeredNs - story.arrivalNs)}.`}
      </p>
      <ol>
        {story.events.map(({ atNs, text }) => (
          <li key={`${atNs} ${text}`}>
            <b>{`+${ms(atNs - story.arrivalNs)}`}</b> {text}
          </li>
        ))}
      </ol>
      {story.why.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </section>
  );
}

function ms(ns: number): string {
  return formatMs(ns / NS_PER_MS);
}
