import { statSync } from 'node:fs';

/** True for a regular file. Follows links; a dangling or circular one is no file. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
