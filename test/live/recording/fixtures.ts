import { join } from 'node:path';
import { tempDir } from '../../cli/run-cli.js';

export function recordingPath(): string {
  return join(tempDir(), 'recording.json');
}
