import type { Time, Timer } from '../base/world/time.js';

/** What a thread counts up, to show that its event loop turns. */
export type PulseBuffer = SharedArrayBuffer;

/** Time between two beats. */
const BEAT_MS = 250;
/** So many looks in a row without a beat: the thread hangs. */
const SILENT_LOOKS = 10;
/** No message, body or tensor keeps a thread of escapement busy for so long. */
const LONGEST_SILENCE_MS = 10_000;

/** Called in the thread: shows from now on that it does not hang. Returns what ends that. */
export function beat(buffer: PulseBuffer, time: Time): () => void {
  const beats = new Int32Array(buffer);
  const timer = time.every(BEAT_MS, () => Atomics.add(beats, 0, 1)).unref();
  return () => timer.cancel();
}

/** A pulse to be shared with the thread that is to show it, or to see it. */
export function newPulse(): PulseBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Follows whether another thread hangs. Counts looks without a beat rather than time: a process that was itself suspended
 * lets its threads go on before it takes one for dead. A thread that has not begun to beat is not waited for: it starts,
 * however long that takes.
 */
export class PulseReader {
  private readonly beats: Int32Array;
  private readonly timer: Timer;
  private seen = 0;
  private silentLooks = 0;

  /** `hangs` is called with words that say so of the thread, and with null when it goes on. */
  constructor(
    buffer: PulseBuffer,
    time: Time,
    hangs: (reason: string | null) => void,
    silenceMs = LONGEST_SILENCE_MS,
  ) {
    this.beats = new Int32Array(buffer);
    const look = () => {
      const wasSilent = this.silentLooks >= SILENT_LOOKS;
      const isSilent = this.isSilent();
      if (isSilent !== wasSilent)
        hangs(isSilent ? `has shown no sign of life for ${silenceMs / 1000} s` : null);
    };
    this.timer = time.every(silenceMs / SILENT_LOOKS, look).unref();
  }

  stop(): void {
    this.timer.cancel();
  }

  private isSilent(): boolean {
    const now = Atomics.load(this.beats, 0);
    this.silentLooks = now === this.seen && now > 0 ? this.silentLooks + 1 : 0;
    this.seen = now;
    return this.silentLooks >= SILENT_LOOKS;
  }
}

/** Notices that a thread hangs, which nothing else tells: it does not end, and takes what it is sent. */
export class PulseWatch {
  readonly buffer = newPulse();
  private readonly reader: PulseReader;

  /** `hangs` is called once, with words that say so of the thread. */
  constructor(time: Time, hangs: (reason: string) => void, silenceMs?: number) {
    const once = (reason: string | null) => {
      this.stop();
      if (reason !== null) hangs(reason);
    };
    this.reader = new PulseReader(this.buffer, time, once, silenceMs);
  }

  stop(): void {
    this.reader.stop();
  }
}
