import { join } from 'node:path';
import { tempDir } from '../../cli/run-cli.js';

export function profilePath(): string {
  return join(tempDir(), 'profile.json');
}
