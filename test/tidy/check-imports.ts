import { describe, expect, it } from 'vitest';
import { ROOMS, WINGS } from './rooms.js';
import { parse, SOURCES } from './sources.js';
import { type Arrow, arrowsOf, findCircle, graphOf, OWN, roomOf, Walls, wingOf } from './walls.js';

const ARROWS = SOURCES.flatMap(arrowsOf);
const walls = new Walls(ROOMS, WINGS);

describe('rooms and wings', () => {
  it('are all in the tables', () => {
    expect([...new Set(SOURCES.map(({ fileName }) => roomOf(fileName)))].sort()).toEqual(
      Object.keys(ROOMS).sort(),
    );
    for (const [room, wings] of Object.entries(WINGS)) {
      const here = SOURCES.map(({ fileName }) => fileName).filter((path) => path.startsWith(`src/${room}/`));
      const files = here.filter((path) => path !== `src/${room}/index.ts`);
      expect([...new Set(files.map((path) => wingOf(path, wings)))].sort()).toEqual(
        Object.keys(wings).sort(),
      );
    }
  });

  it('import what they were granted', () => {
    expect(walls.ungranted(ARROWS)).toEqual([]);
  });

  it('need all that they were granted', () => {
    expect(walls.unused(ARROWS)).toEqual([]);
  });

  it('form no circle', () => {
    expect(findCircle(graphOf(ARROWS, roomOf))).toEqual([]);
    expect(findCircle(graphOf(ARROWS, (path) => walls.nodeOf(path)))).toEqual([]);
  });
});

describe('files', () => {
  it('import only files that exist, with their extension', () => {
    const known = new Set(SOURCES.map(({ fileName }) => fileName));
    expect(ARROWS.filter(({ to }) => !known.has(to)).map(({ from, to }) => `${from} imports ${to}`)).toEqual(
      [],
    );
  });

  it('form no circle, not even of types', () => {
    expect(findCircle(graphOf(ARROWS, (path) => path))).toEqual([]);
  });
});

describe('the walls', () => {
  const example = new Walls(
    { base: [], live: ['base'], load: ['live'] },
    { live: { [OWN]: [], wire: [OWN], models: [OWN, 'ort'], ort: [OWN], main: [OWN, 'models'] } },
  );
  const arrow = (from: string, to: string): Arrow => ({ from: `src/${from}.ts`, to: `src/${to}.ts` });
  const good = [
    arrow('live/model', 'base/units'),
    arrow('load/player', 'live/model'),
    arrow('live/wire/http', 'live/model'),
    arrow('live/models/make/graph', 'live/ort/device'),
    arrow('live/models/a', 'live/model'),
    arrow('live/ort/device', 'live/model'),
    arrow('live/main', 'live/models/a'),
    arrow('live/main', 'live/model'),
    arrow('live/index', 'live/wire/http'),
    arrow('live/wire/http', 'live/wire/tcp'),
  ];

  it('let pass what is granted, and need every grant', () => {
    expect(example.ungranted(good)).toEqual([]);
    expect(example.unused(good)).toEqual([]);
    expect(findCircle(graphOf(good, (path) => example.nodeOf(path)))).toEqual([]);
  });

  it('stop imports upwards, sideways and through a door', () => {
    const bad = [
      arrow('live/model', 'load/player'),
      arrow('base/units', 'live/model'),
      arrow('live/wire/http', 'live/ort/device'),
      arrow('live/model', 'live/wire/http'),
      arrow('live/ort/device', 'live/main'),
      arrow('load/player', 'live/index'),
    ];
    expect(example.ungranted([...good, ...bad])).toEqual(bad.map(({ from, to }) => `${from} imports ${to}`));
  });

  it('name grants that nothing needs', () => {
    const fewer = good.filter(({ to }) => to !== 'src/live/ort/device.ts' && to !== 'src/base/units.ts');
    expect(example.unused(fewer)).toEqual(['live -> base', 'live: models -> ort']);
  });

  it('find circles of wings, and of files that share no circle of their own', () => {
    const back = [...good, arrow('live/ort/other', 'live/models/a')];
    expect(findCircle(graphOf(back, (path) => path))).toEqual([]);
    expect(findCircle(graphOf(back, (path) => example.nodeOf(path)))).toEqual([
      'live/models',
      'live/ort',
      'live/models',
    ]);
  });

  it('see every kind of import, of types too', () => {
    const code = [
      "import { a } from './a.js';",
      "import type { B } from './b.js';",
      "export { c } from '../c.js';",
      "export type * from './d.js';",
      "const e = await import('./e.js');",
      "type F = import('./f.js').F;",
      "import 'node:fs';",
    ].join('\n');
    expect(arrowsOf(parse('src/live/x.ts', code)).map(({ to }) => to)).toEqual([
      ...['src/live/a.ts', 'src/live/b.ts', 'src/c.ts', 'src/live/d.ts', 'src/live/e.ts', 'src/live/f.ts'],
    ]);
    const pair = ['a', 'b'].map((name, i) =>
      parse(`src/live/${name}.ts`, `import type { T } from './${'ba'[i]}.js';`),
    );
    expect(findCircle(graphOf(pair.flatMap(arrowsOf), (path) => path))).toHaveLength(3);
  });
});
