import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { ROOT, tempDir, writeIn } from '../../cli/run-cli.js';
import { until } from '../../cli/server-process.js';

const DIR = join(ROOT, 'deploy/observability');

/** A sample of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [unixS: number, value: string];
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A real Prometheus with the configuration and rules of the repository, but for targets and pace. */
export class PrometheusServer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  /** `targets` by job. */
  static async start(targets: Readonly<Record<string, readonly string[]>>): Promise<PrometheusServer> {
    const dir = tempDir();
    const config = parse(readFileSync(join(DIR, 'prometheus.yml'), 'utf8'));
    config.global = { scrape_interval: '500ms', evaluation_interval: '500ms' };
    config.rule_files = [join(DIR, 'rules.yml')];
    for (const scrape of config.scrape_configs) {
      scrape.static_configs = [{ targets: targets[scrape.job_name] }];
      delete scrape.dns_sd_configs;
    }
    const file = writeIn(dir, 'prometheus.yml', stringify(config));
    const flags = [`--config.file=${file}`, `--storage.tsdb.path=${join(dir, 'data')}`];
    const child = spawn('prometheus', [...flags, '--web.listen-address=127.0.0.1:0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const port = () => /Listening on" address=127\.0\.0\.1:(\d+)/.exec(log)?.[1];
    await until(() => port() !== undefined || child.exitCode !== null);
    if (port() === undefined) throw new Error(`Prometheus does not start:\n${log}`);
    return new PrometheusServer(child, `http://127.0.0.1:${port()}`);
  }

  /** Throws what Prometheus says against the expression. */
  async query(expression: string): Promise<Sample[]> {
    const { result } = await this.get(`query?${new URLSearchParams({ query: expression })}`);
    return result as Sample[];
  }

  /** Rules with their health. */
  async rules(): Promise<{ name: string; health: string; lastError?: string }[]> {
    const { groups } = await this.get('rules');
    return (groups as { rules: { name: string; health: string }[] }[]).flatMap(({ rules }) => rules);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  private async get(path: string): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${this.url}/api/v1/${path}`);
    const { status, error, data } = (await response.json()) as Answer;
    if (status !== 'success') throw new Error(`${error}: ${path}`);
    return data;
  }
}
