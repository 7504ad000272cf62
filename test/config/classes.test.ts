import { describe, expect, it } from 'vitest';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

const withClasses = (classes: string, section = '') =>
  BASE.replace('20s }', `20s${section} }`).replace('slo:', `classes: ${classes}\nslo:`);

describe('classes of an experiment', () => {
  it('have a name, a weight of 1 and no guarantee unless they say more', async () => {
    const text = withClasses('[{ name: gold, weight: 5, share: 30%, priority: [1, 2] }, { name: bulk }]');
    expect((await load(text)).classes).toEqual([
      { name: 'gold', weight: 5, share: 0.3, priorities: [1, 2] },
      { name: 'bulk', weight: 1, share: 0, priorities: [] },
    ]);
    expect((await load(BASE)).classes).toEqual([]);
  });

  it.each([
    ['a weight of 0', '[{ name: gold, weight: 0 }]', 'classes.0.weight: must be above 0, found 0'],
    ['a negative weight', '[{ name: gold, weight: -1 }]', /classes\.0\.weight: .*-1/],
    ['a name twice', '[{ name: a }, { name: a }]', 'classes.1.name: a is listed twice'],
    [
      'guarantees above 100 %',
      '[{ name: a, share: 60% }, { name: b, share: 50% }]',
      'classes: guarantee 110 % of the GPU time: must be at most 100 %',
    ],
    [
      'a priority twice',
      '[{ name: a, priority: 1 }, { name: b, priority: [2, 1] }]',
      'classes.1.priority: 1 means the class a already',
    ],
    ['no class', '[]', /classes: /],
  ])('are refused with %s', async (_, classes, message) => {
    const error = await rejection(load(withClasses(classes)));
    if (typeof message === 'string') expect(error.message).toContain(message);
    else expect(error.message).toMatch(message);
  });

  it('must be declared before a section names them', async () => {
    const named = await rejection(load(withClasses('[{ name: gold }]', ', class: glod')));
    expect(named.message).toContain('unknown class "glod": did you mean "gold"?');
    const none = await rejection(load(BASE.replace('20s }', '20s, class: gold }')));
    expect(none.message).toContain('unknown class "gold": declare it in classes');
  });
});
