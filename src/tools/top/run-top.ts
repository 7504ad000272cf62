import { setTimeout as sleep } from 'node:timers/promises';
import type { WriteStream } from 'node:tty';
import { printable } from '../../base/printable.js';
import { type Access, fetchStatus } from './fetch-status.js';
import { topLines } from './top-text.js';

interface TopOptions {
  readonly access: Access;
  /** The controller's metrics port, e.g. `http://127.0.0.1:8002`. */
  readonly url: string;
  readonly intervalMs: number;
  readonly output: WriteStream;
  /** Ends it. */
  readonly quit: AbortSignal;
}

const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
/** Size of a terminal that does not report it. */
const USUAL = { columns: 80, rows: 24 };

/**
 * Shows a controller on the whole screen of the terminal. Throws `E_SERVER` if it cannot be reached at the start; if it
 * goes away later, the screen says so and polling continues.
 */
export async function runTop({ url, access, intervalMs, output, quit }: TopOptions): Promise<void> {
  let status = await fetchStatus(url, access);
  let answeredMs = performance.now();
  let isGone = false;
  while (!quit.aborted) {
    const { columns, rows } = output.columns > 0 ? output : USUAL;
    const silentS = Math.floor((performance.now() - answeredMs) / 1000);
    const problem = isGone ? `no answer for ${silentS} s, trying again` : '';
    // The last row stays free for the cursor.
    const lines = topLines({ url, status, problem }, rows - 1).map(
      (line) => `${printable(line).slice(0, columns)}${CLEAR_LINE}\n`,
    );
    output.write(`${HOME}${lines.join('')}${CLEAR_BELOW}`);
    await sleep(intervalMs, null, { signal: quit }).catch(() => {});
    try {
      status = await fetchStatus(url, access, quit);
      answeredMs = performance.now();
      isGone = false;
    } catch {
      isGone = true;
    }
  }
}
