import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { NS_PER_S } from '../../src/base/units.js';
import { ROOT, tempDir, writeIn } from '../cli/run-cli.js';
import { missing, readCommandLine } from './tools.js';

const PATH = join(ROOT, 'deploy/compose.yaml');
const TEXT = readFileSync(PATH, 'utf8');
const COMPOSE = parse(TEXT, { merge: true });

/** Services of our image, by name. */
const own = Object.entries<Service>(COMPOSE.services).filter(([, { image }]) => image === 'escapement');

interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly read_only?: boolean;
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}

describe('the compose file', () => {
  const noCompose = missing('docker-compose', 'docker-compose');

  it('is what the compose specification allows', ({ skip }) => {
    skip(noCompose !== '', `not checked: ${noCompose}`);
    const check = (path: string) =>
      spawnSync('docker-compose', ['--file', path, 'config', '--quiet'], { encoding: 'utf8' });
    expect(check(PATH)).toMatchObject({ status: 0, stderr: '' });
    const wrong = writeIn(tempDir(), 'compose.yaml', TEXT.replace('read_only', 'readonly'));
    expect(check(wrong).stderr).toContain('readonly');
  });

  it('starts commands with flags that they have', async () => {
    expect(own.length).toBeGreaterThan(2);
    for (const [, { command }] of own) await readCommandLine(command);
  });

  it('has workers that register with the controller and its standby', async () => {
    const { controller } = await readCommandLine(COMPOSE.services.worker.command);
    const ports = await Promise.all(
      ['controller', 'standby'].map(async (name) => {
        const { listen, standby } = await readCommandLine(COMPOSE.services[name].command);
        expect(standby).toBe(name === 'standby');
        return `${name}:${listen}`;
      }),
    );
    expect(controller).toEqual(ports);
    expect(COMPOSE.services.worker.deploy.replicas).toBeGreaterThan(1);
  });

  it('writes to no root file system, and lets services drain', async () => {
    for (const [, { command, read_only, stop_grace_period = '' }] of own) {
      expect(read_only).toBe(true);
      const { drain = 0, 'drain-notice': notice = 0 } = await readCommandLine(command);
      expect(Number.parseInt(stop_grace_period, 10) * NS_PER_S).toBeGreaterThan(
        Number(drain) + Number(notice),
      );
    }
  });

  it('mounts files of the checkout that exist', () => {
    for (const path of [COMPOSE.services.controller.build.dockerfile, 'deploy/observability/prometheus.yml'])
      expect(existsSync(join(ROOT, path))).toBe(true);
  });
});
