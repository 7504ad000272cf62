import { writeOut } from '../../text/terminal.js';
import { exitCodesText } from '../exit-codes.js';

/** `escapement exit-codes`: what the exit code of a command means. */
export function run(): void {
  writeOut(`${exitCodesText()}\n`);
}
