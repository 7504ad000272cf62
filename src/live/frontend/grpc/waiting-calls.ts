import type { ServerHttp2Stream } from 'node:http2';

/** A call that waits for its turn. */
interface WaitingCall {
  readonly stream: ServerHttp2Stream;
  readonly begin: () => void;
}

/** So many that came are looked at together: whether they were given up. */
const LOOK_CALLS = 64;

/** Its client wants no answer any more. */
export function isGivenUp(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.aborted;
}

/** Calls of a connection that came when their client had had its share of the turn: they begin in the next ones. */
export class WaitingCalls {
  private readonly calls: WaitingCall[] = [];
  /** Those at the end that came since they were looked at. */
  private unseen = 0;

  /** `gaveUp` hears of a call that was given up before its message came. */
  constructor(private readonly gaveUp: (stream: ServerHttp2Stream) => void) {}

  get isAny(): boolean {
    return this.calls.length > 0;
  }

  push(stream: ServerHttp2Stream, begin: () => void): void {
    this.calls.push({ stream, begin });
    this.unseen++;
    if (this.unseen === LOOK_CALLS) this.dropGivenUp();
  }

  /** Begins `most` of them; returns how many it did. */
  begin(most: number): number {
    if (this.unseen > 0) this.dropGivenUp();
    const begun = this.calls.splice(0, most);
    for (const { begin } of begun) begin();
    return begun.length;
  }

  /** Calls that were given up before their message came need no turn: they are counted while they are read. */
  private dropGivenUp(): void {
    const { calls } = this;
    let kept = calls.length - this.unseen;
    this.unseen = 0;
    for (let i = kept; i < calls.length; i++) {
      const { stream } = calls[i];
      if (isGivenUp(stream) && stream.readableLength === 0) this.gaveUp(stream);
      else calls[kept++] = calls[i];
    }
    calls.length = kept;
  }
}
