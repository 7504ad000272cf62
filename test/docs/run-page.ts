import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAIN, tempDir } from '../cli/run-cli.js';
import { pythonWith } from '../python.js';
import { ROOT } from '../snippets.js';
import { mismatch, outputsOf, renewed } from './outputs.js';
import { commandsOf, pageAt } from './pages.js';

/** Set to write what commands print now, and tables as they are now, into the pages. */
export const RENEW = process.env.UPDATE_DOCS === '1';

/** How long a block may take to stop what it started. */
const STOP_MS = 30_000;

/** Programs of the page's folder that come before the machine's. */
const BIN = '.bin';

/** The ports that servers in the documentation listen on. */
const PORTS = [8000, 8001, 8002, 8003, 8004];
/** Held by the test file that uses those ports: pages with servers take turns. */
const TURN_PORT = 7999;
const TURN_MS = 600_000;

/**
 * Runs all blocks of commands of a page, in order, in a folder that looks like a checkout, and compares the `text`
 * block right below each with what it printed. Blocks that name a file are saved there. Returns the folder.
 */
export function runPage(
  path: string,
  prepare: (run: (code: string) => Promise<string>) => Promise<void> = async () => {},
): string {
  const page = pageAt(path);
  const blocks = commandsOf(page);
  const outputs = outputsOf(page.fences);
  const dir = tempDir();

  describe(path, () => {
    let turn: Server | undefined;

    beforeAll(async () => {
      if (blocks.some(({ code }) => /escapement (serve|controller|worker)/.test(code))) {
        turn = await waitForTurn();
        for (const port of PORTS) (await listen(port)).close();
      }
      for (const folder of ['experiments', 'traces'])
        cpSync(join(ROOT, folder), join(dir, folder), { recursive: true });
      // The real npx takes four times as long to start as the command: test/package.long.test.ts runs it.
      const npx = `#!/bin/sh\ntest "$1" = escapement || exit 127\nshift\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
      mkdirSync(join(dir, BIN));
      writeFileSync(join(dir, BIN, 'npx'), npx, { mode: 0o755 });
      // What plugins find that import from the package.
      const { name, version, type, bin, exports } = JSON.parse(
        readFileSync(join(ROOT, 'package.json'), 'utf8'),
      );
      writeFileSync(join(dir, 'package.json'), JSON.stringify({ name, version, type, bin, exports }));
      symlinkSync(join(ROOT, 'dist'), join(dir, 'dist'));
      await prepare((code) => runShell(code, dir));
    }, TURN_MS);

    afterAll(() => void turn?.close());

    it('shows output only right below the commands that print it', () => {
      const claimed = blocks.map(({ line }) => outputs.get(line)).filter((output) => output !== undefined);
      expect(claimed).toEqual(page.fences.filter(({ language }) => language === 'text'));
    });

    it.for(blocks)('runs the commands at line $line', async ({ code, line }, { skip }) => {
      const python = code.includes('python3 ') ? pythonWith('pandas', 'matplotlib') : 'python3';
      skip(
        python === undefined,
        'no Python with pandas and matplotlib (Debian: python3-pandas, python3-matplotlib)',
      );
      for (const { file, line: above, code: content } of page.fences)
        if (file !== undefined && above < line) writeFileSync(join(dir, file), content);
      const printed = await runShell(`python3() { command ${python} "$@"; }\n${code}`, dir);
      const output = outputs.get(line);
      if (output === undefined) return;
      if (RENEW) renew(join(ROOT, path), output.code, printed);
      else expect(mismatch(output.code, printed), `it prints:\n${printed}`).toBeNull();
    });
  });
  return dir;
}

/** Runs a block; resolves with its stdout once everything that it started has ended. */
async function runShell(code: string, dir: string): Promise<string> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', code], {
    cwd: dir,
    env: { ...process.env, PATH: `${join(dir, BIN)}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, to which all that it starts belongs.
    detached: true,
  });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  const status = await new Promise((resolve) => child.on('close', resolve));
  const left = !(await hasEnded(child.pid as number));
  if (left) process.kill(-(child.pid as number), 'SIGKILL');
  expect(status, printed.stderr).toBe(0);
  expect(left, 'something that the block started still runs').toBe(false);
  return printed.stdout;
}

async function waitForTurn(): Promise<Server> {
  const lastMs = performance.now() + TURN_MS;
  for (;;) {
    try {
      return await listen(TURN_PORT);
    } catch (error) {
      if (performance.now() > lastMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/** Throws where something listens on the port already. */
async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error) => {
    throw new Error(`the servers of the documentation need port ${port}: ${error.message}`);
  });
  return server;
}

/** Whether all processes of a group have ended, at the latest after a while. */
async function hasEnded(group: number): Promise<boolean> {
  const lastMs = performance.now() + STOP_MS;
  while (performance.now() < lastMs) {
    try {
      process.kill(-group, 0);
    } catch {
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

function renew(file: string, block: string, printed: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(`\`\`\`text\n${block}`, () => `\`\`\`text\n${renewed(block, printed)}`),
  );
}
