/** How long a client may take to send more of a message, or to read more of an answer. */
export const STALL_MS = 30_000;

/** Sees whether a call goes on. */
export class StallWatch {
  // What the last look saw, and when it last was different.
  private progressBytes = -1;
  private unreadBytes = -1;

  constructor(private movedMs: number) {}

  /** Whether nothing of a message has come, and nothing of an answer was read, for too long. */
  isStalled(progressBytes: number, unreadBytes: number, nowMs: number): boolean {
    if (unreadBytes !== this.unreadBytes || progressBytes !== this.progressBytes) this.movedMs = nowMs;
    this.unreadBytes = unreadBytes;
    this.progressBytes = progressBytes;
    return nowMs - this.movedMs >= STALL_MS;
  }
}
