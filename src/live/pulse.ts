import type { Time, Timer } from '../base/world/time.js';

/** Time, and the number of threads per core, which makes a watch wait as many times longer. */
interface PulseWorld {
  readonly time: Time;
  crowding(): number;
}

/** Counter of a thread that shows that its event loop turns. */
export type PulseBuffer = SharedArrayBuffer;

/** Interval between beats. */
const BEAT_MS = 250;
/** Number of looks in a row without a beat after which the thread counts as hung, if it has a core. */
const SILENT_LOOKS = 10;
/** Limit above the time that any message, body or tensor keeps a thread of escapement busy. */
const LONGEST_SILENCE_MS = 10_000;

/** Called in the thread: starts to beat. Returns a function that stops it. */
export function beat(buffer: PulseBuffer, time: Time): () => void {
  const beats = new Int32Array(buffer);
  const timer = time.every(BEAT_MS, () => Atomics.add(beats, 0, 1)).unref();
  return () => timer.cancel();
}

/** A pulse to be shared between the beating and the watching thread. */
export function newPulse(): PulseBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Detects whether another thread hangs. Counts looks without a beat rather than time: a process that was itself
 * suspended lets its threads continue before it declares one dead. A thread that has not started to beat is ignored: it
 * may take any time to start.
 */
export class PulseReader {
  private readonly beats: Int32Array;
  private readonly timer: Timer;
  private seen = 0;
  private silentLooks = 0;
  private wasSilent = false;

  /** `hangs` is called with a description when the thread hangs, and with null when it continues. */
  constructor(
    buffer: PulseBuffer,
    { time, crowding }: PulseWorld,
    hangs: (reason: string | null) => void,
    silenceMs = LONGEST_SILENCE_MS,
  ) {
    this.beats = new Int32Array(buffer);
    const look = () => {
      const isSilent = this.isSilent(crowding);
      if (isSilent === this.wasSilent) return;
      this.wasSilent = isSilent;
      const seconds = (this.silentLooks * silenceMs) / SILENT_LOOKS / 1000;
      hangs(isSilent ? `has shown no sign of life for ${seconds} s` : null);
    };
    this.timer = time.every(silenceMs / SILENT_LOOKS, look).unref();
  }

  stop(): void {
    this.timer.cancel();
  }

  private isSilent(crowding: () => number): boolean {
    const now = Atomics.load(this.beats, 0);
    this.silentLooks = now === this.seen && now > 0 ? this.silentLooks + 1 : 0;
    this.seen = now;
    return this.silentLooks >= SILENT_LOOKS && this.silentLooks >= SILENT_LOOKS * crowding();
  }
}

/** Detects a hung thread, which nothing else reveals: it does not end, and accepts messages. */
export class PulseWatch {
  readonly buffer = newPulse();
  private readonly reader: PulseReader;

  /** `hangs` is called once, with a description of the thread. */
  constructor(world: PulseWorld, hangs: (reason: string) => void, silenceMs?: number) {
    const once = (reason: string | null) => {
      this.stop();
      if (reason !== null) hangs(reason);
    };
    this.reader = new PulseReader(this.buffer, world, once, silenceMs);
  }

  stop(): void {
    this.reader.stop();
  }
}
