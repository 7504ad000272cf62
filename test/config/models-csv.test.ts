import { describe, expect, it } from 'vitest';
import { CSV_COLUMNS, parseModelsCsv } from '../../src/config/models-csv.js';
import { experimentNotes } from '../../src/config/policy-notes.js';
import type { ModelSpec } from '../../src/core/model.js';
import { noteTexts } from '../../src/record/policy-notes.js';
import { rowsOf } from '../rows.js';
import { BASE, load, MODELS_CSV } from './experiment-files.js';
import { rejection } from './failure.js';

const PAGE = 16 * 1024 * 1024;

/** What people measure: a row for each model, GPU and batch size, with gaps. */
const MEASUREMENTS = `model,gpu,batch,latency_ms,weights_mb
resnet50,t4,1,4.2,98
resnet50,t4,4,11.9,98
resnet50,t4,8,21.8,98
resnet50,a10,1,1.9,98
resnet50,a10,8,8.1,98
bert-base,t4,2,19.5,418
bert-base,t4,8,70.2,418
bert-base,a10,1,5.1,418
bert-base,a10,3,12.8,418
`;

/** The models of a file on a cluster with these kinds of GPUs, and what is said of it. */
async function read(csv: string, kindNames: readonly string[] = [], pageBytes = PAGE) {
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const models = await parseModelsCsv(csv, 'm.csv', { pageBytes, kindNames, warn });
  return { models, warnings };
}

async function specsOf(csv: string, pageBytes = PAGE): Promise<(ModelSpec | null)[]> {
  return (await read(csv, [], pageBytes)).models.map(({ base }) => base);
}

function loadWith(csv: string, gpus = '1') {
  const text = BASE.replace('gpus: 1, pages: 1376', `gpus: ${gpus}`);
  return load(text, [], { 'models.csv': csv });
}

describe('a models file with a row for each model', () => {
  it('is read by header, whatever the order, with or without pages', async () => {
    const csv =
      '\uFEFFinput_bytes,model_id,b1_ns,weights_bytes,output_bytes,b16_ns,b2_ns,weights_transfer_ns\r\n1,x,10,33554433,2,160,20,5\r\n';
    const { models, warnings } = await read(csv);
    expect(models[0]!.base).toEqual({
      name: 'x',
      weightsBytes: 33_554_433,
      pages: 3,
      loadNs: 5,
      batchSizes: [1, 2, 16],
      execNs: [10, 20, 160],
      inputBytes: 1,
      outputBytes: 2,
    });
    expect(warnings).toEqual([]);
  });

  it('has its pages column believed for pages of 16 MiB', async () => {
    const csv = MODELS_CSV.replace(',7,', ',9,');
    const pagesAt = async (size: number) => (await specsOf(csv, size)).map((spec) => spec?.pages);
    expect(await pagesAt(PAGE)).toEqual([9, 7]);
    expect(await pagesAt(2 * PAGE)).toEqual([4, 4]);
  });

  it('has models with batch sizes of their own where cells are empty', async () => {
    const csv = 'model,b1_ms,b2_ms,b4_ms,weights_mib\na,1,,2.5,1\nb,2,3,,2\n,,,,\n';
    expect(await specsOf(csv)).toMatchObject([
      { name: 'a', batchSizes: [1, 4], execNs: [1e6, 2.5e6], weightsBytes: 2 ** 20 },
      { name: 'b', batchSizes: [1, 2], execNs: [2e6, 3e6], weightsBytes: 2 ** 21 },
    ]);
  });

  it('has names as they are written', async () => {
    const names = ['0012', '1.10', '1e3', 'true', '=1+1'];
    const csv = `model,b1_us\n${names.map((name) => `${name},5`).join('\n')}\n`;
    expect((await specsOf(csv)).map((spec) => spec?.name)).toEqual(names);
  });
});

describe('a models file with a row for each batch size', () => {
  it('serves each kind of GPU of a cluster with its own rows', async () => {
    const { models } = await read(MEASUREMENTS, ['a10', 't4']);
    expect(models[0]!.base).toMatchObject({ batchSizes: [1, 8], execNs: [1.9e6, 8.1e6], weightsBytes: 98e6 });
    expect(models[0]!.onKind.get('t4')).toMatchObject({
      batchSizes: [1, 4, 8],
      execNs: [4.2e6, 11.9e6, 21.8e6],
    });
    expect(models[1]!.base).toMatchObject({ batchSizes: [1, 3], execNs: [5.1e6, 12.8e6] });
  });

  it('is extrapolated to batch 1 along the two smallest batches', async () => {
    const { models, warnings } = await read(MEASUREMENTS, ['t4']);
    // 19.5 − (70.2 − 19.5) / 6.
    expect(models[1]!.base).toMatchObject({ batchSizes: [1, 2, 8], execNs: [11.05e6, 19.5e6, 70.2e6] });
    expect(warnings[0]).toBe(
      'm.csv: batch 1 was not measured, and is extrapolated from the smallest batches that were: bert-base on t4 (11.1ms)',
    );
  });

  it.each([
    ['no less than its part of the smallest batch', 'x,2,10\nx,4,30', 5],
    ['no more than the smallest batch', 'x,2,10\nx,4,8', 10],
    // α·1 + β in proportion to α·4 + β, with β = 1.92 α.
    ['in the proportions of fit from an only batch', 'x,4,11.84', 5.84],
  ])('is extrapolated to %s', async (_, rows, firstMs) => {
    const [spec] = await specsOf(`model,batch,latency_ms\n${rows}\n`);
    expect(spec!.execNs[0]! / 1e6).toBeCloseTo(firstMs, 2);
  });

  it('is used where a larger batch is faster, with a warning', async () => {
    const { models, warnings } = await read('model,batch,latency_ms\nx,1,5\nx,8,3\nx,4,4\n');
    expect(models[0]!.base).toMatchObject({ batchSizes: [1, 4, 8], execNs: [5e6, 4e6, 3e6] });
    expect(warnings[0]).toBe(
      'm.csv: a larger batch is faster than a smaller one, and used as it is: x (4ms at 4, 5ms at 1); x (3ms at 8, 4ms at 4)',
    );
  });

  it('has what it does not say of bytes estimated, and says how', async () => {
    const { models, warnings } = await read('model,batch,latency_ms\nx,1,2.73\n');
    expect(models[0]!.base).toMatchObject({
      // 25.46 MB for each ms.
      weightsBytes: 69_509_866,
      loadNs: 5_697_530,
      inputBytes: 602_112,
      outputBytes: 4000,
    });
    expect(warnings).toEqual([
      'm.csv: the weights are not given, and estimated as 25.5 MB for each ms of an INFER of batch 1, which is what fit takes: x',
      'm.csv: the time of a LOAD is not given, and estimated as the weights at 12.2 GB/s: x',
      'm.csv: input or output bytes are not given, and taken to be 602112 and 4000: an image of 224 x 224 and 1,000 classes in FP32: x',
    ]);
  });

  it('has the weights of a model once, for all its rows', async () => {
    const { models } = await read('model,gpu,batch,latency_ms,weights_mb\nx,a,1,1,\nx,b,1,2,7\n', ['a', 'b']);
    expect([models[0]!.base, models[0]!.onKind.get('b')].map((spec) => spec?.weightsBytes)).toEqual([
      7e6, 7e6,
    ]);
  });

  it('names at most four models in a warning', async () => {
    const csv = `model,batch,latency_ms\n${Array.from({ length: 9 }, (_, i) => `m${i},1,1\n`).join('')}`;
    expect((await read(csv)).warnings[0]).toMatch(/: m0; m1; m2; m3; and 5 more$/);
  });
});

describe('an experiment with a models file', () => {
  it('has times on each kind at the batch sizes that were measured on all, and says what is left out', async () => {
    const experiment = await loadWith(MEASUREMENTS, '[{ kind: t4 }, { kind: a10 }]');
    expect(
      experiment.models.map(({ batchSizes, execNs, otherKinds }) => [batchSizes, execNs, otherKinds]),
    ).toEqual([
      [[1, 8], [4.2e6, 21.8e6], [{ loadNs: 8_032_787, execNs: [1.9e6, 8.1e6] }]],
      [[1], [11.05e6], [{ loadNs: 34_262_295, execNs: [5.1e6] }]],
    ]);
    const texts = noteTexts(experimentNotes(experiment)).map(({ kind, text }) => `${kind}: ${text}`);
    expect(texts).toContain(
      'warning: bert-base: batch sizes that were not measured on all kinds of GPUs are not used: 2, 3, 8',
    );
  });

  it('takes the speed of a kind that the file does not name', async () => {
    const { models } = await loadWith(MEASUREMENTS, '[{ kind: t4 }, { kind: h100, speed: 10 }]');
    expect(models[0]!.otherKinds).toEqual([{ loadNs: 8_032_787, execNs: [420_000, 1_190_000, 2_180_000] }]);
  });

  it('needs no kinds if the file names one', async () => {
    const { models } = await loadWith('model,gpu,batch,latency_ms\nx,Tesla T4,1,5\n');
    expect(models[0]!.execNs).toEqual([5e6]);
  });

  it.each([
    [
      'several kinds in the file and none in the cluster',
      '4',
      'resnet50 has rows for t4, a10: say which GPUs the cluster has, e.g. cluster.gpus: [{ kind: t4 }]',
    ],
    ['other kinds', '[{ kind: v100 }]', 'resnet50 has rows for t4, a10, and cluster.gpus lists v100'],
    [
      'a kind without rows or speed',
      '[{ kind: t4 }, { kind: v100 }]',
      'resnet50 was not measured on v100: add rows for v100 to its file, or give v100 a speed relative to the first kind',
    ],
    [
      'a first kind without rows, to which speeds relate',
      '[{ kind: v100 }, { kind: t4, speed: 0.25 }]',
      'resnet50 was not measured on v100: add rows for v100 to its file',
    ],
  ])('is refused with %s', async (_, gpus, what) => {
    expect((await rejection(loadWith(MEASUREMENTS, gpus))).what).toBe(what);
  });
});

/** What is replaced in the usual file, and by what (the whole file, if nothing is named); line, column and message. */
const MISTAKES = String.raw`
| batch,latency_ms\n1,2 | 1: model: the column is missing
| model,batch\nx,1 | 1: latency: the column is missing: write batch and latency_ns, or b1_ns, b2_ns …
pages | pagez | 1: pagez: unknown column: did you mean "pages"?
b2_ns | b2_min | 1: b2_min: unknown column: known: model, model_id, gpu, batch, latency_ns, b1_ns, weights_bytes, weights_transfer_ns, input_bytes, output_bytes, pages
b2_ns | b1_ms | 1: b1_ms: says the same as column b1_ns
| model,batch,latency_ms,b1_ns\nx,1,2,3 | 1: b1_ns: write either this column or batch and latency
| model;batch;latency_ms\nx;1;2 | 1: write commas between the fields, and points in numbers
1,102160300 | 1,many | 3: weights_bytes: must be a whole number of at least 1, found "many"
8310000 | -8310000 | 2: weights_transfer_ns: must be a whole number of at least 1, found "-8310000"
2730000 | 0 | 2: b1_ns: must be a whole number of at least 1, found "0"
| model,batch,latency_ms\nx,1,1e-7 | 2: latency_ms: must be a number above 0, found "1e-7"
| model,batch,latency_ms\nx,1,=1+1 | 2: latency_ms: must be a number above 0, found "=1+1"
| model,batch,latency_ms\nx,1,"4,2" | 2: latency_ms: must be a number above 0, found "4,2"
| model,batch,latency_ms\nx,1,1e300 | 2: latency_ms: is too large: 1e300
| model,batch,latency_ms\nx,0x1,2 | 2: batch: must be a whole number of at least 1, found "0x1"
\n1, | \n, | 3: model_id: is empty
| model,batch,latency_ms\nx,,2 | 2: batch: is empty
| model,batch,latency_ms\nx,1, | 2: has no latency
| model,batch,latency_ms\nx,1,2\nx,4,3\nx,1,2 | 4: latency_ms: x has a latency at batch 1 already, in line 2
\n1, | \n0, | 3: b1_ns: 0 has a latency at batch 1 already, in line 2
| model,batch,latency_ms,weights_mb\nx,1,2,98\nx,2,3,99 | 3: weights_mb: x has another value in line 2
,602112,4000\n1 | \n1 | 2: has 7 fields, and the header names 9
| model,batch,latency_ms\n"x,1,2 | 2: a quote is not closed in its line, or text follows it
`;

describe('a mistake in a models file is reported with its line and column', () => {
  const long = (cell: string) => `model,batch,latency_ms\n${cell}\n`;
  it.each([
    ...rowsOf(MISTAKES).map(([from = '', to = '', message = '']) => [
      from === '' ? `${to}\n` : MODELS_CSV.replace(from, to),
      message,
    ]),
    [long(`x,1,${'9'.repeat(5000)}`), `2: latency_ms: is too large: ${'9'.repeat(40)}…`],
    [long(`${'x'.repeat(201)},1,2`), '2: model: must have at most 200 characters, found 201'],
    [long('x\u001b[31m,1,2'), '2: model: has a control character'],
    ['model\tb1_ns\nx\t1\n', '1: write commas between the fields, and points in numbers'],
    [MODELS_CSV.split('\n')[0]!, ' has a header and no models'],
    ['', '1: model: the column is missing'],
  ])('%#', async (csv, message) => {
    const error = await rejection(load(BASE, [], { 'models.csv': csv }));
    expect(error.code).toBe('E_PROFILE');
    expect(error.message.replace(/^\S*models\.csv:/, '')).toBe(message);
  });
});

describe('the list of columns', () => {
  it('names columns that exist', async () => {
    const titles = CSV_COLUMNS.match(/\b[a-z]\w*_(?:id|ns|bytes)\b|\bgpu\b|\bpages\b/g)!;
    const wide = titles.filter((title) => title !== 'latency_ns' && title !== 'model_id');
    expect(wide).toEqual(
      'b1_ns b2_ns gpu weights_bytes weights_transfer_ns input_bytes output_bytes pages'.split(' '),
    );
    const csv = `model,${wide.join()}\nx,1,2,g,3,4,5,6,7\n`;
    expect(await specsOf(csv)).toMatchObject([
      { execNs: [1, 2], weightsBytes: 3, loadNs: 4, inputBytes: 5, outputBytes: 6, pages: 7 },
    ]);
  });
});
