import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Plan } from '../../../src/run/plan/plan-result.js';
import { runCli, SMALL_EXPERIMENT, tempDir, words, writeIn } from '../run-cli.js';

const KINDS =
  'gpus: [{ kind: a, count: 1, price: 2/h }, { kind: b, count: 1, price: 1/h, speed: 0.5 }], pages: 200';
const EXPERIMENT = SMALL_EXPERIMENT.replace('gpus: 1, pages: 200', KINDS).replace('400/s', '150/s');
const FLEET = words`--minimize cost --over cluster.gpus.a=0:2,cluster.gpus.b=0:2 --threads 1 --quiet`;

/** Text of a part of a page, its tags and entities undone. */
function textOf(page: string): string {
  return page
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/\s+/g, ' ');
}

test('a page for the decision says what to rent, and what may come', async () => {
  const dir = tempDir();
  const scenario = 'scenarios: [{ name: more memory, overrides: { cluster.pages: 400 } }]\n';
  const file = writeIn(dir, 'fleet.yaml', EXPERIMENT + scenario);
  const [out, html] = [join(dir, 'out'), join(dir, 'pages', 'decision.html')];
  mkdirSync(join(dir, 'pages'));
  const flags = words`plan ${file} --target attainment>=0.9 ${FLEET} --out ${out} --html ${html}`;
  const { status, stdout, stderr } = await runCli(flags);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain(`report: ${html}\n`);
  const plan = JSON.parse(readFileSync(join(out, 'plan.json'), 'utf8')) as Plan;
  const page = readFileSync(html, 'utf8');
  const answer = plan.tried.find(({ value }) => value === plan.answer)!;
  const lead = textOf(page.slice(page.indexOf('<header>'), page.indexOf('</header>')));
  expect(lead).toContain(`Rent ${plan.answer}: ${answer.costPerHour!.toFixed(2)} per hour, `);
  expect(lead).toContain('✓ attainment>=0.9: ');
  const { scenarios, headroom, setup } = plan.whatIfs!;
  expect(lead).toContain(
    `holds up to ${headroom!.holds} times the traffic, and no longer at ${headroom!.misses}`,
  );
  expect(setup).toMatch(
    /^cluster:\n {2}gpus:\n( {4}- \{ kind: [ab], .*\}\n)+policy: \{ kind: clockwork, scheduleAhead: 5ms \}$/,
  );
  expect(textOf(page)).toContain(setup.replace(/\s+/g, ' '));
  // The answer in no scenario is the answer of the search.
  expect(scenarios[0]).toMatchObject({ value: 'baseline', cells: answer.cells, figures: answer.figures });
  const [before] = page.split('<section><h2>Charts</h2>') as [string];
  for (const { value } of scenarios) expect(textOf(before)).toContain(` ${value} `);
  for (const title of ['What to set', 'What if?', 'What was assumed'])
    expect(before).toContain(`<h2>${title}</h2>`);
  // The file sets pages, so the memory by default is not in use.
  expect(textOf(page)).not.toContain('cluster.memory');
  const larger = plan.tried[plan.tried.indexOf(answer) + 1]!;
  expect(textOf(page)).toContain(` ${larger.value} `);
  // With the runs kept, the page is the same.
  const again = await runCli(flags);
  expect(again.stdout).toBe(stdout);
  expect(readFileSync(html, 'utf8')).toBe(page);
});

test('a mistake in a scenario is reported before the search', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'wrong.yaml', `${EXPERIMENT}scenarios: [{ name: a, overrides: { slo: 5 } }]\n`);
  const out = join(dir, 'out');
  const { status, stderr } = await runCli(
    words`plan ${file} --target attainment>=0.9 ${FLEET} --html ${join(dir, 'd.html')} --out ${out}`,
  );
  expect(stderr).toMatch(
    /^escapement: E_CONFIG_UNIT: .*wrong\.yaml:\d+: scenarios\.0\.overrides\.slo: .*\n$/,
  );
  expect({ status, kept: existsSync(out) }).toEqual({ status: 13, kept: false });
});
