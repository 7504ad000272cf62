import { readFile } from 'node:fs/promises';
import { inputPath } from './input-path.js';

/** Polling interval. */
const LOOK_MS = 5000;

interface WatchedFilesOptions {
  readonly paths: readonly string[];
  /** Initial contents, in the order of the paths. */
  readonly contents: readonly Buffer[];
  /** Called on changed contents. Throws if they are unusable. */
  readonly use: (contents: readonly Buffer[]) => void;
  /** Called once per distinct problem: contents unusable, or a file unreadable. */
  readonly failed: (error: Error) => void;
  /** Called when, after a failure, the files hold the contents in use again. */
  readonly restored: () => void;
  readonly lookMs?: number;
}

/**
 * Watches files that belong together and may be replaced one after the other. Polls their contents, which also notices
 * links that change targets. Unusable contents may be half written, so a problem is reported only if the next poll
 * finds it, too.
 */
export class WatchedFiles {
  private readonly timer: NodeJS.Timeout;
  private used: string;
  /** Problem found by the last poll, and the last one reported. */
  private broken = '';
  private complained = '';
  private isLooking = false;

  constructor(private readonly options: WatchedFilesOptions) {
    this.used = fingerprint(options.contents);
    this.timer = setInterval(() => void this.look(), options.lookMs ?? LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    let now = '';
    try {
      const { paths } = this.options;
      const contents = await Promise.all(paths.map((path) => readFile(inputPath(path))));
      now = fingerprint(contents);
      if (now !== this.used) this.options.use(contents);
      else if (this.complained !== '') this.options.restored();
      this.used = now;
      this.broken = '';
      this.complained = '';
    } catch (error) {
      this.complain(error as Error, now);
    } finally {
      this.isLooking = false;
    }
  }

  private complain(error: Error, contents: string): void {
    const what = `${contents} ${error.message}`;
    if (what === this.broken && what !== this.complained) {
      this.complained = what;
      this.options.failed(error);
    }
    this.broken = what;
  }
}

function fingerprint(contents: readonly Buffer[]): string {
  return contents.map((bytes) => bytes.toString('base64')).join(' ');
}
