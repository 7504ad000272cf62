import type { Registry } from 'prom-client';

/** Metrics in Prometheus' text format, parsed back: value by `name{label="value",…}`. */
export async function scrape(registry: Registry): Promise<Map<string, number>> {
  return parseExposition(await registry.metrics());
}

export function parseExposition(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const match = /^([a-z_]+(?:\{(?:[a-z_]+="[^"]*",?)+\})?) (\S+)$/.exec(line);
      if (match === null) throw new Error(`no line of Prometheus' text format: ${line}`);
      return [match[1] as string, Number(match[2])];
    }),
  );
}

/** Sum over all series of a metric whose labels contain `label`. */
export function total(series: Map<string, number>, name: string, label = ''): number {
  let sum = 0;
  for (const [key, value] of series) {
    if ((key === name || key.startsWith(`${name}{`)) && key.includes(label)) sum += value;
  }
  return sum;
}
