import { statSync } from 'node:fs';

/** Links are followed; one that leads nowhere, or in a circle, is no file. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
