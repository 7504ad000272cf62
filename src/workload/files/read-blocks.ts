import { EscapementError } from '../../base/errors.js';
import type { InputFiles } from '../../base/world/input-files.js';

/** Limit far above any line of a known trace, so that a file without line ends is not read into memory whole. */
const LONGEST_LINE_BYTES = 1 << 24;
const NEWLINE = 0x0a;

/**
 * A text file as blocks of whole lines: every block ends with a newline, which is added to a last line that lacks it.
 * Empty files yield nothing. Throws the errors of reading, and `E_TRACE_HEADER` for files that are not lines of text.
 * `start` skips bytes of an uncompressed file.
 */
export async function* readBlocks(
  files: InputFiles,
  path: string,
  start = 0,
): AsyncGenerator<Uint8Array, void, void> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of files.bytes(path, start)) {
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    if (cut > 0) {
      const head = chunk.subarray(0, cut);
      yield rest.length === 0 ? head : joined([...rest, head]);
      rest = [];
      restBytes = 0;
    }
    if (cut < chunk.length) rest.push(chunk.subarray(cut));
    restBytes += chunk.length - cut;
    if (restBytes > LONGEST_LINE_BYTES) throw notText(path);
  }
  if (restBytes > 0) yield joined([...rest, Uint8Array.of(NEWLINE)]);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let end = 0;
  for (const piece of pieces) {
    whole.set(piece, end);
    end += piece.length;
  }
  return whole;
}

function notText(path: string): EscapementError {
  return new EscapementError('E_TRACE_HEADER', 'is not a trace: it has a line of more than 16 MiB', {
    file: path,
  });
}
