import { StorySection } from '../timeline/story-section.jsx';
import type { View } from './session.js';

/** Explanation of a request's answer. */
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
  return <StorySection title={`Request ${story?.request ?? request}${of}`} story={story} />;
}
