import { spawn } from 'node:child_process';

/** End of a program. */
type Ended =
  | {
      readonly kind: 'ended';
      readonly status: number | null;
      readonly signal: string | null;
      readonly stdout: string;
      readonly stderr: string;
    }
  /** The program does not exist. */
  | { readonly kind: 'missing' }
  /** It was killed after the time limit. */
  | { readonly kind: 'timed-out'; readonly limitMs: number }
  /** It could not be started, or printed too much. */
  | { readonly kind: 'unfit'; readonly message: string };

const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Runs a program that may hang or crash; never rejects. After `limitMs` it is killed with its children and not waited
 * for: a process that hangs in a driver survives even SIGKILL until the driver returns.
 */
export function runChild(command: string, args: readonly string[], limitMs: number): Promise<Ended> {
  return new Promise((resolve) => {
    // A separate process group, so that the kill reaches its children too.
    const child = spawn(command, args, {
      detached: true,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const settle = (outcome: Ended) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    const abandon = (outcome: Ended) => {
      killGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      child.unref();
      settle(outcome);
    };
    const timer = setTimeout(() => abandon({ kind: 'timed-out', limitMs }), limitMs);
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
        if (texts[name].length > MOST_BYTES)
          abandon({ kind: 'unfit', message: `printed more than ${MOST_BYTES} bytes` });
      });
    }
    child.on('error', ({ code, message }: NodeJS.ErrnoException) =>
      settle(code === 'ENOENT' ? { kind: 'missing' } : { kind: 'unfit', message }),
    );
    child.on('close', (status, signal) => settle({ kind: 'ended', status, signal, ...texts }));
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    // Windows has no process groups.
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
