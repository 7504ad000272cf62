/** A server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Splits a stream of text into events; the text may arrive in any pieces. */
export class EventReader {
  private rest = '';

  /** Returns the events completed by this piece. */
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
