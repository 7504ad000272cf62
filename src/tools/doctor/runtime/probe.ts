import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compiledNextTo } from '../../../base/compiled.js';
import type { Provider } from '../../../live/device.js';

/** What came of running a model of one operator on a provider. */
export type Probe =
  | {
      readonly outcome: 'runs';
      readonly provider: Provider;
      readonly onnxruntime: string;
      readonly tookMs: number;
    }
  | { readonly outcome: 'fails'; readonly provider: Provider; readonly reason: string };

/** CUDA takes seconds for its libraries, software Vulkan for its compiler. */
const LIMIT_MS = 60_000;
const MOST_TEXT = 10_000;

/** In a process of its own, because a driver that fails may take the process with it, or never return. */
export function probeProvider(provider: Provider, limitMs: number = LIMIT_MS): Promise<Probe> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [fileURLToPath(PROBE), provider], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout = (stdout + text).slice(-MOST_TEXT);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-MOST_TEXT);
    });
    const fail = (reason: string) => resolve({ outcome: 'fails', provider, reason });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`hangs: no answer in ${limitMs / 1000} s`);
    }, limitMs);
    child.on('error', (error) => fail(error.message));
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      const answer = answerIn(stdout);
      if (answer !== null) resolve(answer);
      else fail(`crashes the process (${signal ?? `status ${status}`})${lastLine(stderr)}`);
    });
  });
}

/** The probing process says nothing else that begins so. Drivers may print as well. */
export const ANSWER = 'probe: ';

function answerIn(stdout: string): Probe | null {
  const line = stdout.split('\n').findLast((one) => one.startsWith(ANSWER));
  return line === undefined ? null : (JSON.parse(line.slice(ANSWER.length)) as Probe);
}

function lastLine(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return line === '' ? '' : `: ${line}`;
}

const PROBE = compiledNextTo(import.meta.url, 'probe-process.js');
