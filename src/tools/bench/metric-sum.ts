/**
 * Sum over all samples of a metric in Prometheus' text format that have these labels; 0 where there are none.
 */
export function metricSum(
  text: string,
  metric: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  let sum = 0;
  for (const line of text.split('\n')) {
    const [, name, inside, value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name !== metric) continue;
    const given = (inside ?? '').split(',');
    if (wanted.every((label) => given.includes(label))) sum += Number(value);
  }
  return sum;
}
