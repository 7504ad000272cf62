/** A server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Cuts a stream of text into its events; the text may come in any pieces. */
export class EventReader {
  private rest = '';

  /** The events that are complete with this piece. */
  read(piece: string): ServerEvent[] {
    const parts = (this.rest + piece).split('\n\n');
    this.rest = parts.pop() ?? '';
    return parts.map(eventOf);
  }
}

function eventOf(part: string): ServerEvent {
  const fields = new Map(
    part.split('\n').map((line) => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)] as const;
    }),
  );
  return { event: fields.get('event') ?? '', data: fields.get('data') ?? '' };
}
