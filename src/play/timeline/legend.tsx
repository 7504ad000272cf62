/** Legend of the shapes in a timeline. */
export function Legend() {
  return (
    <details class="legend">
      <summary>How to read the timeline</summary>
      <dl>
        <Entry of="A box: an action, in the color of its model; its number: the requests of the batch. Pale: planned.">
          <rect class="legend-box" x="1" y="3" width="16" height="10" />
          <rect class="legend-box legend-planned" x="19" y="3" width="12" height="10" />
        </Entry>
        <Entry of="The line below a box: the window in which the action may start.">
          <rect class="legend-window" x="1" y="10" width="30" height="1.5" />
        </Entry>
        <Entry of="A red line: the earliest deadline of the batch.">
          <rect class="legend-deadline" x="15" y="2" width="1.5" height="12" />
        </Entry>
        <Entry of="The line from top to bottom: the present.">
          <rect class="legend-now" x="15" y="0" width="1.5" height="16" />
        </Entry>
        <Entry of="Outlined and joined: the INFERs of the request in the story; dashed: its arrival and deadline.">
          <path class="legend-mark legend-explained" d="M1 3h10v8H1zM11 7h8M19 3h8v8h-8zM30 0v16" />
        </Entry>
        <Entry of="A circle: a request that was answered late.">
          <circle class="legend-mark" cx="16" cy="8" r="4" />
        </Entry>
        <Entry of="A bar: a request that was refused.">
          <path class="legend-mark" d="M12 8h8" />
        </Entry>
        <Entry of="A cross: a request that was given up, or failed.">
          <path class="legend-mark" d="M12 4l8 8M20 4l-8 8" />
        </Entry>
      </dl>
    </details>
  );
}

interface EntryProps {
  readonly of: string;
  readonly children: preact.ComponentChildren;
}

function Entry({ of: meaning, children }: EntryProps) {
  return (
    <div>
      <dt>
        <svg width="32" height="16" aria-hidden="true">
          {children}
        </svg>
      </dt>
      <dd>{meaning}</dd>
    </div>
  );
}
