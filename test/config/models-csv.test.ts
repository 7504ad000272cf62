import { describe, expect, it } from 'vitest';
import { parseModelsCsv } from '../../src/config/models-csv.js';
import { expected, rowsOf } from '../rows.js';
import { BASE, load, MODELS_CSV } from './experiment-files.js';
import { rejection } from './failure.js';

const PAGE = 16 * 1024 * 1024;
const HEADER = 'model_id,weights_bytes,weights_transfer_ns,input_bytes,output_bytes,b1_ns';

const specsOf = (csv: string, pageBytes = PAGE) => parseModelsCsv(csv, 'm.csv', pageBytes);

describe('a models file', () => {
  it('is read by header, whatever the order, with or without pages', async () => {
    const csv =
      '\uFEFFinput_bytes,model_id,b1_ns,weights_bytes,output_bytes,b16_ns,b2_ns,weights_transfer_ns\r\n1,x,10,33554433,2,160,20,5\r\n';
    expect(await specsOf(csv)).toEqual([
      {
        name: 'x',
        weightsBytes: 33_554_433,
        pages: 3,
        loadNs: 5,
        batchSizes: [1, 2, 16],
        execNs: [10, 20, 160],
        inputBytes: 1,
        outputBytes: 2,
      },
    ]);
  });

  it('has models with batch sizes of their own where cells are empty', async () => {
    const specs = await specsOf(`${HEADER},b2_ns,b4_ns\na,1,1,0,0,1,,3\nb,1,1,0,0,2,3,\n,,,,,,,\n`);
    expect(specs).toMatchObject([
      { name: 'a', batchSizes: [1, 4], execNs: [1, 3] },
      { name: 'b', batchSizes: [1, 2], execNs: [2, 3] },
    ]);
  });
});

/** What is replaced in the usual file, and by what (the whole file, if nothing is named); line, column and message. */
const MISTAKES = String.raw`
| b1_ns\n1 | 1: model_id: the column is missing
pages | pagez | 1: pagez: unknown column: did you mean "pages"?; for tables of other kinds: escapement import profiles
b2_ns | b1_ns | 1: b1_ns: is there twice
| model_id;b1_ns\nx;1 | /^1: model_id;b1_ns: unknown column: /
1,102160300 | 1,many | 3: weights_bytes: must be a whole number of at least 1, found "many"
8310000 | -8310000 | 2: weights_transfer_ns: must be a whole number of at least 1, found "-8310000"
2730000 | 0 | 2: b1_ns: must be a whole number of at least 1, found "0"
2730000 |  | 2: b1_ns: must be a whole number of at least 1, found ""
4050000 | 0x1 | 2: b2_ns: must be a whole number of at least 1, found "0x1"
\n1, | \n, | 3: model_id: must be a name without control characters
,602112,4000\n1 | \n1 | 2: has 7 fields, and the header names 9
| model_id,b1_ns\n"x,1 | 2: a quote is not closed in its line, or text follows it
`;

describe('a mistake in a models file is reported with its line and column', () => {
  it.each([
    ...rowsOf(MISTAKES).map(([from = '', to = '', message = '']) => [
      from === '' ? `${to}\n` : MODELS_CSV.replace(from, to),
      message,
    ]),
    [
      `${HEADER}\nx,1,1,0,0,${'9'.repeat(5000)}`,
      `2: b1_ns: must be a whole number of at least 1, found "${'9'.repeat(40)}…"`,
    ],
    [`${HEADER}\nx\u001b[31m,1,1,0,0,2`, '2: model_id: must be a name without control characters'],
    [MODELS_CSV.split('\n')[0]!, ' has a header and no models'],
    ['', '1: model_id: the column is missing'],
  ])('%#', async (csv, message) => {
    const error = await rejection(load(BASE, [], { 'models.csv': csv }));
    expect(error.code).toBe('E_PROFILE');
    expect(error.message.replace(/^\S*models\.csv:/, '')).toEqual(expected(message));
  });
});
