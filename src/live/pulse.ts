/** What a thread counts up, to show that its event loop turns. */
export type PulseBuffer = SharedArrayBuffer;

/** Time between two beats. */
const BEAT_MS = 250;
/** So many looks in a row without a beat: the thread hangs. */
const SILENT_LOOKS = 10;
/** No message, body or tensor keeps a thread of escapement busy for so long. */
const LONGEST_SILENCE_MS = 10_000;

/** Called in the thread: shows from now on that it does not hang. */
export function beat(buffer: PulseBuffer): void {
  const beats = new Int32Array(buffer);
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
}

/**
 * Notices that a thread hangs, which nothing else tells: it does not end, and takes what it is sent. Counts looks without a
 * beat rather than time: a process that was itself suspended lets its threads go on before it takes one for dead. A
 * thread that has not begun to beat is not waited for: it starts, however long that takes.
 */
export class PulseWatch {
  readonly buffer: PulseBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  private readonly beats = new Int32Array(this.buffer);
  private readonly timer: NodeJS.Timeout;
  private seen = 0;
  private silentLooks = 0;

  /** `hangs` is called once, with words that say so of the thread. */
  constructor(hangs: (reason: string) => void, silenceMs = LONGEST_SILENCE_MS) {
    this.timer = setInterval(() => {
      if (!this.isSilent()) return;
      this.stop();
      hangs(`has shown no sign of life for ${silenceMs / 1000} s`);
    }, silenceMs / SILENT_LOOKS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private isSilent(): boolean {
    const now = Atomics.load(this.beats, 0);
    this.silentLooks = now === this.seen && now > 0 ? this.silentLooks + 1 : 0;
    this.seen = now;
    return this.silentLooks >= SILENT_LOOKS;
  }
}
