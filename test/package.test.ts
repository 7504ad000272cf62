import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './cli/run-cli.js';

interface Manifest {
  readonly devDependencies: object;
  readonly allowScripts: object;
  readonly packages?: Readonly<Record<string, object>>;
}

const MANIFEST = readJson('package.json');

describe('npm ci', () => {
  it('installs onnxruntime, which the tests of live mode need', () => {
    expect(MANIFEST.devDependencies).toHaveProperty('onnxruntime-node');
  });

  /**
   * It downloads the libraries of CUDA, and fails where only the registry can be reached. npm 11 goes by allowScripts,
   * npm 10 by the lock file: a package that is not marked there has no script. npm marks it when it adds it again.
   */
  it('does not run the install script of onnxruntime', () => {
    expect(MANIFEST.allowScripts).toHaveProperty('onnxruntime-node', false);
    const locked = readJson('package-lock.json').packages?.['node_modules/onnxruntime-node'];
    expect(locked).toHaveProperty('version');
    const advice = 'delete the line "hasInstallScript" of onnxruntime-node in package-lock.json';
    expect(locked, advice).not.toHaveProperty('hasInstallScript');
  });
});

function readJson(name: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
}
