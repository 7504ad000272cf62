import { emitKeypressEvents } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Key } from './view-state.js';

/** Private modes of xterm that every terminal in use knows: other screen, cursor, line wrap. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
/** Where a terminal does not tell its size. */
const USUAL = { columns: 80, rows: 24 };
const ENDING_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

interface TerminalEvents {
  key(key: Key): void;
  resized(): void;
  /** The process is asked to end, or the terminal has gone: to be closed. */
  ended(): void;
}

/** A terminal of which one has the whole screen. It must be closed, and is whenever the process ends. */
export class Terminal {
  private closed = false;

  constructor(
    private readonly input: ReadStream,
    private readonly output: WriteStream,
    private readonly events: TerminalEvents,
  ) {}

  /** Takes the screen; tells at once that it has a size. */
  open(): void {
    const { input, output, events } = this;
    process.once('exit', this.close);
    for (const signal of ENDING_SIGNALS) process.on(signal, events.ended);
    process.on('SIGHUP', this.hungUp);
    process.on('SIGCONT', this.enter);
    emitKeypressEvents(input);
    input.on('keypress', this.passKey);
    input.on('end', this.hungUp);
    input.on('error', this.hungUp);
    output.on('resize', events.resized);
    this.enter();
    input.resume();
  }

  get columns(): number {
    return this.output.columns || USUAL.columns;
  }

  get rows(): number {
    return this.output.rows || USUAL.rows;
  }

  /** Writes all lines of the screen. */
  draw(lines: readonly string[]): void {
    if (this.closed) return;
    // After a line that ends in the last column the cursor is still on that column: clearing would erase its last letter.
    this.output.write(HOME + lines.map((line) => CLEAR_LINE + line).join('\r\n'));
  }

  /** Leaves the terminal as it was. */
  close = (): void => {
    if (this.closed) return;
    this.closed = true;
    const { input, output, events } = this;
    process.off('exit', this.close);
    for (const signal of ENDING_SIGNALS) process.off(signal, events.ended);
    process.off('SIGHUP', this.hungUp);
    process.off('SIGCONT', this.enter);
    input.off('keypress', this.passKey);
    input.off('end', this.hungUp);
    input.off('error', this.hungUp);
    output.off('resize', events.resized);
    input.setRawMode(false);
    input.pause();
    if (output.writable) output.write(LEAVE);
  };

  /** Also after the shell has stopped us and brought us back. */
  private readonly enter = (): void => {
    this.input.setRawMode(true);
    this.output.write(ENTER);
    this.events.resized();
  };

  /** Ends by the signal: Node's own end sets the terminal back once more, and dumps core where that has gone. */
  private readonly hungUp = (): void => {
    try {
      this.events.ended();
    } finally {
      process.kill(process.pid, 'SIGHUP');
    }
  };

  private readonly passKey = (_text: string | undefined, key: Key): void => {
    this.events.key(key);
  };
}
