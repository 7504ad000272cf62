import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeModel } from '../../src/live/models/make/make-model.js';
import { optimizeModel } from '../../src/live/models/optimize.js';
import { ServerProcess } from '../cli/server-process.js';
import { tempDir } from '../live/models/fixtures.js';
import { putMeasured } from './fixtures.js';

const REQUESTS = 60;
/** Files that only hear of requests (metrics, log, recording, live state), and what a timer calls, however long that takes. */
const IGNORED =
  /^live\/(?:observe|recording)\/|^live\/(?:controller\/live-events|pulse)\.ts|-(?:observers|watch)\.ts$/;

it('passes the files of the picture in src/live/README.md', async () => {
  const repository = tempDir();
  const { onnx } = makeModel('mlp', { input: 16, classes: 4, seed: 1 });
  const path = await putMeasured(repository, 'mlp', onnx);
  await optimizeModel(path, 'cpu');
  const idle = await callsOf(repository, 0);
  const busy = await callsOf(repository, REQUESTS);
  const passed = [...busy].flatMap(([place, calls]) =>
    calls - (idle.get(place) ?? 0) >= 0.8 * REQUESTS ? place.split(' ', 1) : [],
  );
  const files = new Set(passed.filter((file) => /^(?:live|serve)\//.test(file) && !IGNORED.test(file)));
  const readme = readFileSync('src/live/README.md', 'utf8');
  const [picture] = /^┌[^┌]*└/m.exec(readme) as RegExpExecArray;
  const named = (picture.match(/[\w/-]+\.ts/g) ?? []).map((file) =>
    file.startsWith('serve/') ? file : `live/${file}`,
  );
  expect([...files].sort()).toEqual([...new Set(named)].sort());
});

/** Calls of each function of a server that is sent so many requests, by source file and place. */
async function callsOf(repository: string, requests: number): Promise<Map<string, number>> {
  const coverage = tempDir();
  const ports = ['--http-port', '0', '--grpc-port', 'off', '--metrics-port', 'off'];
  const server = new ServerProcess(['serve', '--repository', repository, ...ports], {
    env: { NODE_V8_COVERAGE: coverage },
  });
  const { http } = await server.ready();
  for (let i = 0; i < requests; i++) {
    const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, 16], data: new Array(16).fill(0.5) }];
    const body = JSON.stringify({ inputs, parameters: { slo_ms: 60_000 } });
    const response = await fetch(`http://127.0.0.1:${http}/v2/models/mlp/infer`, { method: 'POST', body });
    expect([response.status, await response.json()]).toMatchObject([200, { model_name: 'mlp' }]);
  }
  expect(await server.kill('SIGTERM')).toBe(0);
  const calls = new Map<string, number>();
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as Coverage;
    for (const { url, functions } of result) {
      const sourceOf = url.includes('/dist/') ? sourcesOf(url.replace('file://', '')) : () => '';
      for (const { ranges } of functions) {
        const [{ startOffset, count }] = ranges;
        if (count === 0) continue;
        const place = sourceOf(startOffset);
        calls.set(place, (calls.get(place) ?? 0) + count);
      }
    }
  }
  return calls;
}

/** What Node writes to NODE_V8_COVERAGE. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

/** Finds the source of a place in a compiled file, as `FILE LINE:COLUMN`; '': it has none. */
function sourcesOf(path: string): (offset: number) => string {
  if (!existsSync(`${path}.map`)) return () => '';
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
  const text = readFileSync(path, 'utf8');
  const lineStarts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  return (offset) => {
    const line = lineStarts.findLastIndex((start) => start <= offset);
    const found = map.findEntry(line, offset - lineStarts[line]);
    if (!('originalSource' in found)) return '';
    const source = found.originalSource.replace(/^.*\bsrc\//, '');
    return `${source} ${found.originalLine}:${found.originalColumn}`;
  };
}
