import { OutputFile } from '../metrics/output-file.js';

/**
 * Writes a whole file: the name either holds all of it or what it held before. Synchronous on purpose,
 * so that no signal handler runs in the middle. Throws `E_FILE_WRITE`.
 */
export function writeFileAtomic(path: string, content: string): void {
  const file = new OutputFile(path);
  file.write(content);
  file.close();
}
