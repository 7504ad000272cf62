import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../../cli/run-cli.js';
import { missing } from '../tools.js';

const RULES = join(ROOT, 'deploy/observability/rules.yml');
const PAGE = 'docs/how-to/monitor.md';
const noPromtool = missing('promtool', 'prometheus');

const alerts = parse(readFileSync(RULES, 'utf8'))
  .groups.flatMap(({ rules }: { rules: Rule[] }) => rules)
  .filter(({ alert }: Rule) => alert !== undefined) as Rule[];

interface Rule {
  readonly alert?: string;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

describe('rules of Prometheus', () => {
  it.for<[string, string[]]>([
    ['rules', ['check', 'rules', '--lint-fatal', RULES]],
    ['configuration', ['check', 'config', join(ROOT, 'deploy/observability/prometheus.yml')]],
    ['alerts and records', ['test', 'rules', join(ROOT, 'test/deploy/observability/rules.test.yml')]],
  ])('promtool accepts them: %s', ([, args], { skip }) => {
    skip(noPromtool !== '', `rules are not checked: ${noPromtool}`);
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
    expect(status, stdout + stderr).toBe(0);
  });

  it('are each tried, and each has a part of the page that says what to do', () => {
    const tests = readFileSync(join(ROOT, 'test/deploy/observability/rules.test.yml'), 'utf8');
    const page = readFileSync(join(ROOT, PAGE), 'utf8');
    expect(alerts.length).toBeGreaterThan(8);
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook_url).toBe(`${PAGE}#${alert?.toLowerCase()}`);
      expect(page).toContain(`\n### ${alert}\n`);
      expect(tests).toMatch(
        new RegExp(`alertname: ${alert}\\n[^]*?runbook_url: ${PAGE}#${alert?.toLowerCase()}`),
      );
    }
  });
});
