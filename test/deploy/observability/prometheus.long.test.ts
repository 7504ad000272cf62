import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { ROOT, tempDir } from '../../cli/run-cli.js';
import { get, infer, ServerProcess, tinyProfile, until } from '../../cli/server-process.js';
import { missing } from '../tools.js';
import { PrometheusServer, type Sample } from './prometheus-server.js';

const DIR = join(ROOT, 'deploy/observability');
const noPrometheus = missing('prometheus', 'prometheus');
/** What a panel says that need not show anything. */
const QUIET = /Empty while [^.]+\.$/;

const expressions = JSON.parse(readFileSync(join(DIR, 'dashboard.json'), 'utf8')).panels.flatMap(
  ({ title, description = '', targets = [] }: Panel) =>
    targets.map(({ expr }) => ({ title, isQuiet: QUIET.test(description), expression: withVariables(expr) })),
) as { title: string; isQuiet: boolean; expression: string }[];
const rules = parse(readFileSync(join(DIR, 'rules.yml'), 'utf8')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
) as Rule[];

interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

interface Rule {
  readonly record?: string;
  readonly expr: string;
}

it('dashboard and rules show what a controller and a worker under load export', async ({ skip }) => {
  skip(noPrometheus !== '', `no scrape: ${noPrometheus}`);
  const { controller, worker, ask } = await cluster();
  const prometheus = await PrometheusServer.start({
    escapement: [`127.0.0.1:${controller.metrics}`],
    'escapement-workers': [`127.0.0.1:${worker.metrics}`],
  });
  onTestFinished(() => prometheus.stop());
  const exported = await metricNames([controller.metrics, worker.metrics]);
  const records = rules.flatMap(({ record }) => record ?? []);
  const used = [...expressions.map(({ expression }) => expression), ...rules.map(({ expr }) => expr)];
  const unknown = used.flatMap(namesIn).filter((name) => !exported.has(name) && !records.includes(name));
  expect(unknown.filter((name) => name !== 'up')).toEqual([]);

  // Load goes on until each panel and record has a figure: a rate needs two scrapes.
  const wanted = [
    ...expressions.filter(({ isQuiet }) => !isQuiet).map(({ expression }) => expression),
    ...records,
  ];
  let empty = wanted;
  await until(async () => {
    await ask();
    const samples = await Promise.all(empty.map((expression) => prometheus.query(expression)));
    empty = empty.filter((_, index) => !hasFigures(samples[index] ?? []));
    return empty.length === 0;
  });
  for (const { expression, isQuiet } of expressions) if (isQuiet) await prometheus.query(expression);
  for (const { name, health, lastError } of await prometheus.rules())
    expect({ name, health, lastError: lastError ?? '' }).toEqual({ name, health: 'ok', lastError: '' });
  expect(await prometheus.query('up == 0')).toEqual([]);

  const [requests] = await prometheus.query('sum(escapement_request_latency_seconds_count)');
  expect(Number(requests?.value[1])).toBeGreaterThan(0);
  await expect(prometheus.query('sum(rate(escapement_requests_total))')).rejects.toThrow(
    'expected type range',
  );
}, 180_000);

/** A controller and a worker with a model that takes milliseconds; `ask` sends some requests of every kind. */
async function cluster() {
  const device = `simulated:${tinyProfile()}`;
  const worker = new ServerProcess(['worker', '--port', '0', '--metrics-port', '0', '--device', device]);
  const { port, metrics } = await worker.ready();
  const ports = ['--http-port', '--grpc-port', '--metrics-port', '--listen'].flatMap((port) => [port, '0']);
  const controller = new ServerProcess([
    'controller',
    '--worker',
    `127.0.0.1:${port}`,
    ...ports,
    '--set',
    'slo=10s',
    '--journal',
    join(tempDir(), 'requests.jsonl'),
  ]);
  const ready = await controller.ready();
  const ask = async () => {
    const models = [...Array(10).fill('tiny'), 'unknown'];
    const statuses = await Promise.all(models.map((model) => infer(ready.http, model)));
    expect(statuses).toContain(200);
    expect(statuses.at(-1)).toBe(404);
    // An SLO that cannot be met.
    const body = JSON.stringify({
      inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 2], data: [1, 2] }],
      parameters: { slo_ms: 0.001 },
    });
    const late = await fetch(`http://127.0.0.1:${ready.http}/v2/models/tiny/infer`, { method: 'POST', body });
    expect([429, 504]).toContain(late.status);
  };
  await ask();
  return { controller: ready, worker: { metrics }, ask };
}

/** Values that Grafana puts in place of its variables. */
function withVariables(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:job|model)\b/g, '.*');
}

/** Names of series that the processes export; those of a histogram with its suffixes. */
async function metricNames(ports: readonly (number | undefined)[]): Promise<Set<string>> {
  const texts = await Promise.all(ports.map((port) => get(port, '/metrics')));
  const typed = texts.flatMap(({ text }) => [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)]);
  return new Set(
    typed.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

/** Names of series in an expression. */
function namesIn(expression: string): string[] {
  const bare = expression.replaceAll(/"[^"]*"|\{[^}]*\}|\[[^\]]*\]/g, ' ');
  return [...bare.matchAll(/[a-z][a-z0-9_:]*(?![a-z0-9_:]*\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => /^(?:job\w*:)?(?:escapement|nodejs|process)_|^job\w*:|^up$/.test(name));
}

function hasFigures(samples: readonly Sample[]): boolean {
  return samples.some(({ value }) => Number.isFinite(Number(value[1])));
}
