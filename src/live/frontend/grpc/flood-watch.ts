import { KIB, MIB } from '../../../base/units.js';

/**
 * Calls that end without an inference, by the client's choice or fault: so many at once, more than a connection can have
 * open, and per second. An inference earns two more.
 */
const IDLE_CALLS = 300;
/** Calls per second that a client may give up as soon as it has made them: more than a connection can have open. */
const RAPID_RESETS = 200;
/**
 * The same of calls whose inference the server had taken, or that it had not begun. Honest clients give these up at their
 * deadline, all at once, while the server is slow. Each has cost no more than one whose answer is read, and an inference
 * is counted until the service answers.
 */
const RAPID_INFERENCES = 1000;
/** A call that its client gives up so soon was made in vain. */
const RAPID_MS = 10;
/** Pings and settings per second. Honest clients send one in seconds. */
const CONTROL_FRAMES = 50;
/**
 * Bytes per second that carry no message: frames of any kind, and headers. Besides, each call and each byte of a message
 * has as much again, which windows and headers take.
 */
const IDLE_BYTES = MIB;
const CALL_BYTES = 4 * KIB;

/**
 * Sees what one connection makes the server do besides inferences. Each method says whether that is a flood: no single frame
 * or call is wrong, so only their number tells.
 */
export class FloodWatch {
  private idleCalls = IDLE_CALLS;
  private calls = 0;
  private rapidResets = 0;
  private rapidInferences = 0;
  private controlFrames = 0;
  private messageBytes = 0;
  /** What had been read when the present second began. */
  private readBytes = 0;

  called(): void {
    this.calls++;
  }

  /** Calls that came in the present second. */
  get callsOfSecond(): number {
    return this.calls;
  }

  /** A call, or a message of a stream, brought no inference. */
  idle(): boolean {
    this.idleCalls--;
    return this.idleCalls < 0;
  }

  /** One brought an inference. */
  served(): void {
    this.idleCalls = Math.min(IDLE_CALLS, this.idleCalls + 2);
  }

  /** The client gave a call up, `afterMs` after it began; `isAsked`: the service had its inference, or it was not begun. */
  reset(afterMs: number, isAsked: boolean): boolean {
    if (afterMs > RAPID_MS) return false;
    if (isAsked) this.rapidInferences++;
    else this.rapidResets++;
    return this.rapidResets > RAPID_RESETS || this.rapidInferences > RAPID_INFERENCES;
  }

  controlFrame(): boolean {
    this.controlFrames++;
    return this.controlFrames > CONTROL_FRAMES;
  }

  /** Bytes of messages came or went. */
  moved(bytes: number): void {
    this.messageBytes += bytes;
  }

  /** The connection has read so many bytes in all. */
  hasRead(bytes: number): boolean {
    const allowed = IDLE_BYTES + CALL_BYTES * this.calls + 2 * this.messageBytes;
    return bytes - this.readBytes > allowed;
  }

  /** Another second begins. */
  second(readBytes: number): void {
    this.idleCalls = Math.min(IDLE_CALLS, this.idleCalls + IDLE_CALLS);
    this.calls = 0;
    this.rapidResets = 0;
    this.rapidInferences = 0;
    this.controlFrames = 0;
    this.messageBytes = 0;
    this.readBytes = readBytes;
  }
}
