import { spawn } from 'node:child_process';

/** Runs nvidia-smi with such arguments; never throws. */
export type Run = (args: readonly string[]) => Promise<RunOutcome>;

export type RunOutcome =
  | { readonly kind: 'ok'; readonly stdout: string }
  /** There is no such program. */
  | { readonly kind: 'missing' }
  /** It was killed after so long. */
  | { readonly kind: 'timed-out'; readonly limitMs: number }
  /** `status` is null where a signal ended it or it could not be started; `message` is what it said first. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly message: string };

/** A driver that answers needs milliseconds, or a second or two to wake a GPU without persistence mode. */
const NVIDIA_SMI_LIMIT_MS = 5_000;

/**
 * The real nvidia-smi. After `limitMs` it is killed with its children and not waited for: a process that hangs in the
 * driver survives even SIGKILL until the driver returns.
 */
export function nvidiaSmi({ command = 'nvidia-smi', limitMs = NVIDIA_SMI_LIMIT_MS } = {}): Run {
  return (args) =>
    new Promise((resolve) => {
      // Its own process group, so that the kill reaches its children too.
      const child = spawn(command, args, {
        detached: true,
        windowsHide: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const stdout: Buffer[] = [];
      const stderr: Buffer[] = [];
      let bytes = 0;

      const settle = (outcome: RunOutcome) => {
        clearTimeout(timer);
        resolve(outcome);
      };
      const abandon = (outcome: RunOutcome) => {
        killGroup(child.pid);
        child.stdout.destroy();
        child.stderr.destroy();
        child.unref();
        settle(outcome);
      };
      const timer = setTimeout(() => abandon({ kind: 'timed-out', limitMs }), limitMs);
      const collect = (chunks: Buffer[]) => (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > MOST_BYTES) {
          abandon({ kind: 'failed', status: null, message: `printed more than ${MOST_BYTES} bytes` });
        }
      };
      child.stdout.on('data', collect(stdout));
      child.stderr.on('data', collect(stderr));

      child.on('error', (error: NodeJS.ErrnoException) =>
        settle(
          error.code === 'ENOENT'
            ? { kind: 'missing' }
            : { kind: 'failed', status: null, message: error.message },
        ),
      );
      child.on('close', (status) => {
        const said = Buffer.concat(stdout).toString('utf8');
        if (status === 0 || status === CORRUPT_INFOROM) settle({ kind: 'ok', stdout: said });
        // It prints most errors to stdout.
        else {
          const complaint = firstLine(Buffer.concat(stderr).toString('utf8')) || firstLine(said);
          settle({ kind: 'failed', status, message: complaint });
        }
      });
    });
}

/** The first line that is not blank, fit to be shown: no control characters, not endless. */
export function firstLine(text: string): string {
  const line = text.split(/[\r\n]+/).find((one) => one.trim() !== '') ?? '';
  const shown = line.replace(/\p{C}/gu, '?').trim();
  return shown.length > LONGEST_LINE ? `${shown.slice(0, LONGEST_LINE)}…` : shown;
}

/** What all clocks of eight GPUs take is a tenth of it. */
const MOST_BYTES = 8 * 1024 * 1024;

const LONGEST_LINE = 160;

/** Exit status of a query whose answer is complete while some board's infoROM is corrupt (manual of nvidia-smi). */
const CORRUPT_INFOROM = 14;

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    // Windows has no process groups.
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}
