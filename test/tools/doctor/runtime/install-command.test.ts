import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { quoted } from '../../../../src/report/reproduce.js';
import { installCommand } from '../../../../src/tools/doctor/runtime/runtime-checks.js';

const dir = mkdtempSync(join(tmpdir(), 'escapement-install-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A file of escapement where npm would have put it under `folder`. */
function fileUnder(folder: string): string {
  mkdirSync(join(dir, folder), { recursive: true });
  return join(dir, folder, 'node_modules', 'escapement', 'dist', 'doctor', 'runtime', 'install-command.js');
}

describe('the command that installs onnxruntime', () => {
  it('names the project that escapement is installed in', () => {
    const file = fileUnder("a project's");
    writeFileSync(join(dir, "a project's", 'package.json'), '{}');
    const folder = quoted(join(dir, "a project's"));
    expect(installCommand(file)).toBe(`npm --prefix ${folder} install --ignore-scripts onnxruntime-node`);
  });

  it('is global where escapement is', () => {
    expect(installCommand(fileUnder('lib'))).toBe('npm --global install --ignore-scripts onnxruntime-node');
  });

  it('is that of the set-up in a checkout', () => {
    const root = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');
    expect(installCommand()).toBe(`npm --prefix ${quoted(root)} ci`);
  });
});
