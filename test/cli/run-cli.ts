import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '../../src/cli/command-line.js';
import { describeFailure } from '../../src/cli/exit-codes.js';

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The compiled command line. */
export const MAIN = join(ROOT, 'dist', 'cli', 'main.js');

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd?: string;
  /** On top of the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Ends when the commands that were run so far have ended: they share the standard streams of this process. */
let previous: Promise<unknown> = Promise.resolve();

/** Runs a command line in this process, from source; commands run one after the other. For signals, see spawnCli. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const run = previous.then(() => runHere(args, options));
  previous = run.catch(() => {});
  return run;
}

async function runHere(args: readonly string[], { cwd = ROOT, env = {} }: CliOptions): Promise<CliRun> {
  const stdout = capture(process.stdout);
  const stderr = capture(process.stderr);
  const before = { cwd: process.cwd(), env: { ...process.env } };
  process.chdir(cwd);
  Object.assign(process.env, env);
  try {
    const status = await runCommandLine(args).then(
      () => 0,
      (error: unknown) => {
        const { text, exitCode } = describeFailure(error);
        process.stderr.write(text);
        return exitCode;
      },
    );
    return { status, stdout: stdout.text, stderr: stderr.text };
  } finally {
    stdout.end();
    stderr.end();
    process.chdir(before.cwd);
    for (const name of Object.keys(env)) {
      const value = before.env[name];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** Keeps what is written to a stream, instead of writing it, until the end. */
function capture(stream: NodeJS.WriteStream) {
  const { write } = stream;
  const captured = {
    text: '',
    end: () => {
      stream.write = write;
    },
  };
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    captured.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  return captured;
}

export interface SpawnOptions extends CliOptions {
  /** Called with what stderr said so far; true sends SIGINT. */
  readonly interruptWhen?: (stderr: string) => boolean;
  /** What is read from standard input. */
  readonly input?: string;
}

/** Runs the compiled command line as a child process, as a user would. */
export function spawnCli(
  args: readonly string[],
  { cwd = ROOT, env = {}, interruptWhen, input = '' }: SpawnOptions = {},
): Promise<CliRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {}).end(input);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      if (!child.killed && interruptWhen?.(stderr)) child.kill('SIGINT');
    });
    child.on('error', reject);
    child.on('close', (status, signal) => {
      // No test expects a crash: what the process said last must not be lost behind a missing file.
      if (signal !== null) reject(new Error(`escapement ${args.join(' ')} died of ${signal}:\n${stderr}`));
      else resolve({ status, stdout, stderr });
    });
  });
}

/** Runs a command that a test builds upon: throws with what it said if it does not succeed. */
export async function runOk(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const run = await runCli(args, options);
  if (run.status !== 0)
    throw new Error(`escapement ${args.join(' ')} ended with ${run.status}:\n${run.stderr}`);
  return run;
}

/** A new empty folder. */
export function tempDir(): string {
  return mkdtempSync(join(tmpdir(), 'escapement-'));
}

/** Writes a file into `dir` and returns its path. */
export function writeIn(dir: string, name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

/** A run of a fraction of a second: 15 copies of one model on one GPU. */
export const SMALL_EXPERIMENT = `name: small
seed: 1
cluster: { gpus: 1, pages: 200 }
models: { kind: fit, name: model, parameters: 25.6M, copies: 15 }
workload: { kind: poisson, rate: 400/s, duration: 2s }
slo: 25ms
policy: { kind: clockwork, scheduleAhead: 5ms }
`;

/** Arguments of a command line as it is typed. A value is one argument or part of one, a list several. */
export function words(
  texts: TemplateStringsArray,
  ...values: readonly (string | number | undefined | readonly string[])[]
): string[] {
  const all: string[] = [];
  let word = '';
  const end = () => {
    if (word !== '') all.push(word);
    word = '';
  };
  texts.forEach((text, i) => {
    for (const part of text.split(/(\s+)/)) {
      if (/^\s+$/.test(part)) end();
      else word += part;
    }
    const value = values[i] ?? '';
    if (typeof value !== 'object') word += value;
    else {
      end();
      all.push(...value);
    }
  });
  end();
  return all;
}
