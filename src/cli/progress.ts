import { type Options, Presets, SingleBar } from 'cli-progress';
import { printable } from '../base/printable.js';
import { writeErr } from '../text/terminal.js';

/** Progress of a long command. Everything goes to stderr, so that stdout can be piped. */
export interface Progress {
  /** `fraction` from 0 to 1; `note` adds a few words. */
  update(fraction: number, note?: string): void;
  /** Ends the display; later output starts on a new line. */
  stop(): void;
}

/** Share of the work between two lines if stderr is not a terminal. */
const LINE_STEP = 0.25;

/** A bar on a terminal, an occasional line in a log file, nothing if quiet. Never colored. */
export function openProgress(label: string, quiet: boolean, barColumns = 40): Progress {
  if (quiet) return { update: () => {}, stop: () => {} };
  return process.stderr.isTTY ? terminalBar(label, barColumns) : sparseLines(label);
}

function terminalBar(label: string, barColumns: number): Progress {
  const options: Options = {
    stream: process.stderr,
    barsize: barColumns,
    format: `${printable(label)} {bar} {percentage}% {note}`,
    clearOnComplete: true,
    // A simulation does not return to the event loop: Ctrl-C must end the process without a handler, and leave the
    // terminal intact.
    gracefulExit: false,
    hideCursor: false,
    linewrap: true,
  };
  const bar = new SingleBar(options, Presets.legacy);
  bar.start(100, 0, { note: '' });
  return {
    update: (fraction, note = '') => bar.update(Math.floor(fraction * 100), { note: printable(note) }),
    stop: () => bar.stop(),
  };
}

function sparseLines(label: string): Progress {
  let next = LINE_STEP;
  return {
    update: (fraction, note = '') => {
      if (fraction < next || fraction >= 1) return;
      writeErr(`${label} ${Math.floor(fraction * 100)}% ${note}`.trimEnd().concat('\n'));
      next = fraction + LINE_STEP;
    },
    stop: () => {},
  };
}
