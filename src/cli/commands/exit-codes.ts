import { exitCodesText } from '../exit-codes.js';

/** `escapement exit-codes`: what the exit code of a command means. */
export function run(): void {
  process.stdout.write(`${exitCodesText()}\n`);
}
