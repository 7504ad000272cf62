import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import { printable } from '../../base/printable.js';
import { type Access, fetchStatus } from './fetch-status.js';
import { topLines } from './top-text.js';

interface TopOptions extends Access {
  /** The controller's metrics port, e.g. `http://127.0.0.1:8002`. */
  readonly url: string;
  readonly intervalMs: number;
  readonly input: ReadStream;
  readonly output: WriteStream;
}

/** Private modes of xterm that all current terminals support: alternate screen, cursor, line wrap. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
/** Size of a terminal that does not report it. */
const USUAL = { columns: 80, rows: 24 };
/** q, Ctrl-C and Ctrl-D. */
const QUIT_KEYS = ['q', '\u0003', '\u0004'];

/**
 * Shows a controller full-screen in the terminal until q or Ctrl-C. Throws `E_SERVER` if it cannot be reached at the
 * start; if it goes away later, the screen says so and polling continues.
 */
export async function runTop({ url, token, trust, intervalMs, input, output }: TopOptions): Promise<void> {
  const access = { token, trust };
  let status = await fetchStatus(url, access);
  let answeredMs = performance.now();
  let gone = false;
  const draw = () => {
    const { columns, rows } = output.columns > 0 ? output : USUAL;
    const silentS = Math.floor((performance.now() - answeredMs) / 1000);
    const problem = gone ? `no answer for ${silentS} s, trying again` : '';
    const lines = topLines({ url, status, problem }, rows).map((line) => printable(line).slice(0, columns));
    const filled = [...lines, ...Array<string>(Math.max(0, rows - lines.length)).fill('')];
    output.write(HOME + filled.map((line) => CLEAR_LINE + line).join('\r\n'));
  };
  const { quit, close } = takeTerminal(input, output, draw);
  try {
    while (!quit.aborted) {
      draw();
      await sleep(intervalMs, null, { signal: quit }).catch(() => {});
      try {
        status = await fetchStatus(url, access, quit);
        answeredMs = performance.now();
        gone = false;
      } catch {
        gone = true;
      }
    }
  } finally {
    close();
  }
}

/** Takes over the whole screen until `close`; `quit` is aborted by a key, a signal, or the loss of the terminal. */
function takeTerminal(input: ReadStream, output: WriteStream, draw: () => void) {
  const quit = new AbortController();
  let hungUp = false;
  const stop = () => quit.abort();
  const hangUp = () => {
    hungUp = true;
    stop();
  };
  const pressed = (keys: Buffer) => {
    if (QUIT_KEYS.some((key) => keys.includes(key))) stop();
  };
  const enter = () => {
    input.setRawMode(true);
    output.write(ENTER);
  };
  const leave = () => {
    input.setRawMode(false);
    if (output.writable) output.write(LEAVE);
  };
  // SIGCONT: the shell had stopped the process and resumed it.
  const signals = { SIGINT: stop, SIGTERM: stop, SIGHUP: hangUp, SIGCONT: enter, exit: leave };
  for (const [signal, react] of Object.entries(signals)) process.on(signal, react);
  input.on('data', pressed).on('end', hangUp).on('error', hangUp).resume();
  output.on('resize', draw);
  enter();
  const close = () => {
    for (const [signal, react] of Object.entries(signals)) process.off(signal, react);
    input.off('data', pressed).off('end', hangUp).off('error', hangUp).pause();
    output.off('resize', draw);
    leave();
    // Node restores the terminal again at its exit, and dumps core if that is gone.
    if (hungUp) process.kill(process.pid, 'SIGHUP');
  };
  return { quit: quit.signal, close };
}
